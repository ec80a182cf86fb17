#include "driver/command_line/options.hpp"

#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdlib>
#include <iostream>
#include <type_traits>

#include "analysis/text/escape.hpp"
#include "analysis/text/list.hpp"
#include "driver/command_line/command_table.hpp"
#include "driver/version.hpp"
#include "sweeps/definition/params.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

/// A field's value on the command line: a value of its own type, or a text.
template <class T>
struct Given {
  using type = T;
};
template <>
struct Given<fs::path> : Given<std::string> {};
template <>
struct Given<sweep::RecordLevel> : Given<std::string> {};
template <class T>
struct Given<std::optional<T>> : Given<T> {};
template <class T>
struct Given<T Options::*> : Given<T> {};

void add(po::options_description& options, const Option& option) {
  std::visit(
      [&](auto field) {
        using Value = typename Given<decltype(field)>::type;
        if constexpr (std::is_same_v<Value, bool>)
          options.add_options()(option.name, option.help);
        else
          options.add_options()(option.name, po::value<Value>()->value_name(option.value),
                                option.help);
      },
      option.field);
}

po::options_description options_of(const Subcommand& command) {
  po::options_description some("Options");
  some.add_options()("help,h", "this text");
  for (const Option& option : command.options) add(some, option);
  return some;
}

void print_help(std::span<const Subcommand> commands, std::ostream& out) {
  out << "kvsweep: sweeps of KV-cache scheduling policies for LLM agents\n\n";
  for (const Subcommand& command : commands)
    out << "  kvsweep " << command.usage << "\n      " << command.purpose << '\n';
  out << "\n`kvsweep help COMMAND` lists a command's options; `kvsweep --version` what it was "
         "built "
         "with.\n";
}

void print_version(std::ostream& out) {
  out << "kvsweep " << kProgram << '\n'
      << kCompiler << "; " << kMpiVersion << "; HDF5 " << kHdf5Version << "; Boost "
      << kBoostVersion << "; CUDA " << kCudaVersion << "; archives packed by " << kDeflate << '\n';
}

fs::path this_program() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none);
}

std::int64_t seconds_since_1970(const char* variable, const std::string& text) {
  if (const auto seconds = sweep::number_from<std::int64_t>(text)) return *seconds;
  throw UsageError(std::string(variable) + " must be seconds since 1970, found \"" + text + '"');
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void read_environment(Options& options) {
  options.search_path = variable("PATH");
  for (const char* launcher : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE"})
    options.in_mpi_job = options.in_mpi_job || !variable(launcher).empty();
  const std::string ranks = variable("OMPI_COMM_WORLD_SIZE");
  options.on_one_host = !ranks.empty() && ranks == variable("OMPI_COMM_WORLD_LOCAL_SIZE");
  for (const char* tasks :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
    if (variable(tasks).empty()) continue;
    options.tasks = std::atoi(variable(tasks).c_str());
    break;
  }
  options.slurm_job = variable("SLURM_JOB_ID");
  const std::string end = variable("SLURM_JOB_END_TIME");
  if (!end.empty()) options.end_time = seconds_since_1970("SLURM_JOB_END_TIME", end);
  const fs::path home = variable("HOME");
  const fs::path caches = variable("XDG_CACHE_HOME");  // XDG Base Directory Specification
  if (!caches.empty() || !home.empty())
    options.cache = (caches.empty() ? home / ".cache" : caches) / "kvsweep";
  if (options.profiles.empty()) options.profiles = variable("KVSWEEP_PROFILES");
  if (options.profiles.empty())
    options.profiles = beside_program("gpus", {"../../../sweeps", "../share/kvsweep"});
}

void take(sweep::RecordLevel& field, const std::string& given, const std::string& name) {
  const auto found = sweep::record_level_of(given);
  if (!found)
    throw UsageError("--" + name + " must be summary, jobs or all, found \"" + given + '"');
  field = *found;
}
void take(auto& field, const auto& given, const std::string& /*name*/) { field = given; }
template <class T>
void take(std::optional<T>& field, const auto& given, const std::string& name) {
  take(field.emplace(), given, name);
}

void read_values(Options& options, const Subcommand& command, const po::variables_map& given) {
  constexpr double kWaitSpace = 3600;
  options.wait_space_s = kWaitSpace;
  for (const Option& option : command.options) {
    const std::string name = option.long_name();
    if (!given.count(name)) continue;
    std::visit(
        [&](auto field) {
          using Value = typename Given<decltype(field)>::type;
          if constexpr (std::is_same_v<Value, bool>)
            options.*field = true;
          else
            take(options.*field, given[name].as<Value>(), name);
        },
        option.field);
  }
  if (given.count("argument")) options.arguments = given["argument"].as<std::vector<std::string>>();
  options.profiles_given = given.count("profiles") > 0;
  options.skus = sweep::split(options.sku, ",");
  options.scripts = beside_program("clusters", {"../../../slurm", "../share/kvsweep/slurm"});
  options.program = this_program().string();
}

void check(const Options& options) {
  if (options.resume && options.fresh) throw UsageError("--resume and --fresh exclude each other");
  if (options.as_sku && options.fake_device)
    throw UsageError("--as-sku and --fake-device exclude each other");
  if (options.workers && *options.workers < 1)
    throw UsageError("--workers must be at least 1, found " + std::to_string(*options.workers));
  if (options.workers && options.in_mpi_job)
    throw UsageError("--workers is for a run without mpirun, where each rank but the first works");
  const std::pair<const char*, std::optional<double>> limits[] = {
      {"--wait", options.wait_s > 0 ? std::optional(options.wait_s) : std::nullopt},
      {"--cell-timeout", options.cell_timeout_s},
      {"--time-limit", options.time_limit_s},
      {"--node-memory-gib", options.node_memory_gib}};
  for (const auto& [name, value] : limits) {
    if (value && !(*value >= 1e-3 && *value <= 1e8))
      throw UsageError(std::string(name) + " must be between 0.001 and 100000000, found " +
                       sweep::to_text(sweep::Value(*value)));
  }
  if (!(options.wait_s >= 0))
    throw UsageError("--wait must not be negative, found " +
                     sweep::to_text(sweep::Value(options.wait_s)));
  if (!(options.wait_space_s >= 0 && options.wait_space_s <= 1e8))
    throw UsageError("--wait-space must be between 0 and 100000000, found " +
                     sweep::to_text(sweep::Value(options.wait_space_s)));
}

void print_help(const Subcommand& command, std::ostream& out) {
  out << "kvsweep " << command.usage << "\n    " << command.purpose << "\n\n"
      << options_of(command);
}

std::string hint(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = sweep::did_you_mean(word, known);
  return near.empty() ? "" : " (did you mean " + near + "?)";
}

const Subcommand& command_named(std::span<const Subcommand> commands, const std::string& name) {
  const auto command = std::ranges::find(commands, name, &Subcommand::name);
  if (command != commands.end()) return *command;
  const auto names = analysis::mapped(commands, &Subcommand::name);
  throw UsageError("unknown command \"" + name + '"' + hint(name, names) +
                   ", there are: " + sweep::joined(names));
}

/// The message on an option that a command does not take.
std::string unknown_option(std::span<const Subcommand> commands, const Subcommand& command,
                           const std::string& given) {
  const std::string name = given.substr(std::min(given.size(), given.find_first_not_of('-')));
  if (std::ranges::any_of(commands, [&](const Subcommand& each) { return each.takes(name); }))
    return command.name + " does not take " + given;
  const auto dashed = [](const Option& option) { return "--" + option.long_name(); };
  const std::vector<std::string> taken = analysis::mapped(command.options, dashed);
  return command.name + ": unknown option " + given + hint(given, taken) +
         (command.takes("only") && command.takes("set")
              ? "; a key of the sweep is set by --set KEY=VALUE, cells are chosen by --only "
                "KEY=VALUE"
              : "");
}

void check_arguments(const Subcommand& command, const Options& options) {
  const std::size_t count = options.arguments.size();
  const std::string usage = "usage: kvsweep " + std::string(command.usage);
  if (count < command.min_arguments) throw UsageError(usage);
  if (count <= command.max_arguments) return;
  const std::string& extra = options.arguments[command.max_arguments];
  const bool is_given = std::count(options.arguments.begin(), options.arguments.end(), extra) > 1;
  const std::string only = options.only.empty() ? "KEY=VALUE" : options.only.back();
  const bool is_filter = extra.find('=') != std::string::npos && command.takes("only");
  throw UsageError(
      command.name + ": " +
      (is_given
           ? '"' + extra + "\" is given twice"
           : "unexpected argument \"" + extra + '"' +
                 (is_filter ? ", which goes behind a comma: --only " + only + ',' + extra : "")) +
      "; " + usage);
}

Options read(const Subcommand& command, const std::vector<std::string>& words) {
  po::options_description accepted = options_of(command);
  po::options_description hidden;
  hidden.add_options()("argument", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("argument", -1);
  po::variables_map given;
  po::options_description everything;
  everything.add(accepted).add(hidden);
  // Options are matched whole: what begins like one may be meant as another.
  constexpr int kStyle =
      po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::store(
      po::command_line_parser(words).options(everything).positional(positional).style(kStyle).run(),
      given);

  Options options;
  if (given.count("help")) {
    print_help(command, std::cout);
    return options;
  }
  options.command = &command;
  read_values(options, command, given);
  check_arguments(command, options);
  check(options);
  read_environment(options);
  return options;
}

}  // namespace

fs::path beside_program(const char* name, std::initializer_list<const char*> folders) {
  std::error_code none;
  for (const fs::path folder : folders) {
    const fs::path dir = this_program().parent_path() / folder;
    if (fs::exists(dir / name, none)) return fs::canonical(dir);
  }
  return (this_program().parent_path() / *folders.begin()).lexically_normal();
}

Subcommand::Subcommand(int (*run)(const Options& options), const char* usage, const char* purpose,
                       std::size_t min_arguments, std::size_t max_arguments,
                       std::vector<Option> shared, std::vector<Option> own)
    : run(run),
      usage(usage),
      purpose(purpose),
      min_arguments(min_arguments),
      max_arguments(max_arguments),
      name(std::string(usage).substr(0, std::string(usage).find(' '))),
      options(std::move(own)) {
  options.insert(options.end(), shared.begin(), shared.end());
}

bool Subcommand::takes(std::string_view option) const {
  return std::ranges::find(options, option, &Option::long_name) != options.end();
}

void allow_wanted_colors() {
  if (!variable("NO_COLOR").empty() || variable("TERM") == "dumb") return;
  if (isatty(STDOUT_FILENO) != 0) analysis::allow_colors(std::cout);
  if (isatty(STDERR_FILENO) != 0) analysis::allow_colors(std::cerr);
}

Options parse_options(int argc, char** argv, std::span<const Subcommand> commands) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string first = words.empty() ? "--help" : words.front();
  if (first == "--help" || first == "-h" || first == "help") {
    words.size() > 1 ? print_help(command_named(commands, words[1]), std::cout)
                     : print_help(commands, std::cout);
    return {};
  }
  if (first == "--version" || first == "-V") {
    print_version(std::cout);
    return {};
  }
  const Subcommand& command = command_named(commands, first);
  try {
    Options options = read(command, {words.begin() + 1, words.end()});
    for (const std::string& word : words) {
      const std::string quoted = analysis::shell_word(word);
      options.command_line += (options.command_line.empty() ? "" : " ") + quoted;
      if (word == "--fresh") continue;
      options.command_to_resume += (options.command_to_resume.empty() ? "" : " ") + quoted;
    }
    return options;
  } catch (const po::unknown_option& error) {
    throw UsageError(unknown_option(commands, command, error.get_option_name()));
  } catch (const po::error& error) {
    throw UsageError(first + ": " + error.what());
  }
}

}  // namespace driver
