#include "driver/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "driver/version.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct Command {
  const char* usage;
  const char* purpose;
  std::size_t min_arguments, max_arguments;
  std::vector<const char*> options;
};

const std::map<std::string, Command>& commands() {
  static const std::map<std::string, Command> all = {
      {"plan",
       {"plan SWEEP.toml",
        "shows the cells of a sweep, what each is expected to take, and which would run",
        1,
        1,
        {"backend", "set", "only", "skip", "json", "profiles"}}},
      {"run",
       {"run SWEEP.toml",
        "runs the cells of a sweep and prints their results",
        1,
        1,
        {"backend", "set", "only", "skip", "jsonl", "profiles"}}},
      {"workload",
       {"workload SWEEP.toml",
        "describes the jobs that a sweep replays, or the tokens of one turn",
        1,
        1,
        {"set", "only", "skip", "job", "turn", "profiles"}}},
      {"bench",
       {"bench sim|tokenizer [FILE...]",
        "measures the simulator, or a tokenizer on a text",
        1,
        3,
        {"repeats", "json", "profiles"}}},
  };
  return all;
}

/// All options; a command takes those that it names.
po::options_description all_options() {
  po::options_description options("Options");
  const auto list = [] { return po::value<std::vector<std::string>>()->composing(); };
  options.add_options()("help,h", "this text")("version",
                                               "versions of kvsweep and of what it was built with")(
      "backend", po::value<std::string>()->value_name("sim"),
      "what executes the steps; overrides [sweep] backend")(
      "set", list()->value_name("KEY=VALUE"),
      "sets a parameter over the sweep file; may be repeated")(
      "only", list()->value_name("KEY=V[,V]"), "runs only the cells that match; may be repeated")(
      "skip", list()->value_name("KEY=V[,V]"), "leaves out the cells that match; may be repeated")(
      "jsonl", po::value<std::string>()->value_name("DIR"),
      "writes each cell's trace as JSON lines into DIR")(
      "job", po::value<std::string>()->value_name("J"), "a job, by its id or its number from 0")(
      "turn", po::value<int>()->value_name("T")->default_value(0), "a turn of the job, from 0")(
      "repeats", po::value<int>()->value_name("N")->default_value(3),
      "measures N times and reports the best")("json", "prints JSON")(
      "profiles", po::value<std::string>()->value_name("DIR"),
      "folder with gpus/, models/ and policies/");
  return options;
}

po::options_description options_of(const Command& command) {
  po::options_description some("Options");
  const po::options_description all = all_options();
  for (const auto& option : all.options()) {
    const std::string name = option->long_name();
    const auto named = [&](const char* o) { return name == o; };
    if (name == "help" || std::ranges::any_of(command.options, named)) some.add(option);
  }
  return some;
}

void print_help(std::ostream& out) {
  out << "kvsweep: sweeps of KV-cache scheduling policies for LLM agents\n\n";
  for (const auto& [name, command] : commands())
    out << "  kvsweep " << command.usage << "\n      " << command.purpose << '\n';
  out << "\n`kvsweep COMMAND --help` lists a command's options; `kvsweep --version` what it was "
         "built with.\n";
}

void print_version(std::ostream& out) {
  out << "kvsweep " << kVersion << " (" << kCommit << ")\n"
      << kCompiler << "; " << kMpiVersion << "; HDF5 " << kHdf5Version << "; Boost "
      << kBoostVersion << "; CUDA " << kCudaVersion << '\n';
}

/// The profiles beside the program: in its source tree, or where it was installed.
fs::path default_profiles() {
  if (const char* named = std::getenv("KVSWEEP_PROFILES")) return named;
  std::error_code none;
  const fs::path bin = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& dir : {bin / "../../../sweeps", bin / "../share/kvsweep"}) {
    if (fs::exists(dir / "gpus")) return fs::canonical(dir);
  }
  return "sweeps";
}

template <class T>
std::optional<T> optional(const po::variables_map& given, const char* name) {
  if (!given.count(name)) return std::nullopt;
  return given[name].as<std::string>();
}

std::vector<std::string> list(const po::variables_map& given, const char* name) {
  return given.count(name) ? given[name].as<std::vector<std::string>>()
                           : std::vector<std::string>{};
}

Options read(const std::string& name, const Command& command,
             const std::vector<std::string>& words) {
  po::options_description accepted = options_of(command);
  po::options_description hidden;
  hidden.add_options()("argument", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("argument", -1);
  po::variables_map given;
  po::options_description everything;
  everything.add(accepted).add(hidden);
  po::store(po::command_line_parser(words).options(everything).positional(positional).run(), given);

  Options options;
  if (given.count("help")) {
    std::cout << "kvsweep " << command.usage << "\n    " << command.purpose << "\n\n" << accepted;
    return options;
  }
  options.command = name;
  options.arguments = list(given, "argument");
  if (options.arguments.size() < command.min_arguments ||
      options.arguments.size() > command.max_arguments) {
    throw UsageError(std::string("usage: kvsweep ") + command.usage);
  }
  options.profiles = optional<fs::path>(given, "profiles").value_or(default_profiles());
  options.backend = optional<std::string>(given, "backend");
  options.set = list(given, "set");
  options.only = list(given, "only");
  options.skip = list(given, "skip");
  options.jsonl = optional<fs::path>(given, "jsonl");
  options.job = optional<std::string>(given, "job");
  if (given.count("turn")) options.turn = given["turn"].as<int>();
  if (given.count("repeats")) options.repeats = given["repeats"].as<int>();
  options.json = given.count("json") > 0;
  return options;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string first = words.empty() ? "--help" : words.front();
  if (first == "--help" || first == "-h" || first == "help") {
    print_help(std::cout);
    return {};
  }
  if (first == "--version") {
    print_version(std::cout);
    return {};
  }
  const auto command = commands().find(first);
  if (command == commands().end()) {
    std::string known;
    for (const auto& [name, unused] : commands()) known += (known.empty() ? "" : ", ") + name;
    throw UsageError("unknown command \"" + first + "\", there are: " + known);
  }
  try {
    return read(first, command->second, {words.begin() + 1, words.end()});
  } catch (const po::error& error) {
    throw UsageError("kvsweep " + first + ": " + error.what());
  }
}

}  // namespace driver
