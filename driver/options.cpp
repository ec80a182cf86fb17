#include "driver/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <sstream>
#include <string_view>

#include "driver/version.hpp"

namespace driver {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct Command {
  std::string_view name;
  const char* usage;
  const char* purpose;
  std::size_t min_arguments, max_arguments;
  std::string_view options;  // names of kOptions
};

constexpr Command kCommands[] = {
    {"bench", "bench sim|gpu|tokenizer [FILE...]",
     "measures the simulator, this machine's GPU, or a tokenizer on a text", 1, 3,
     "repeats json set lengths profiles"},
    {"check", "check A.h5 | check --equal A.h5 B.h5",
     "checks an archive (exit code 5: damaged), or whether two hold the same results (3: not)", 1,
     2, "equal"},
    {"claims", "claims A.h5 [B.h5...]",
     "judges published claims by the cells of archives: confirmed, refuted, undecided or circular",
     1, 16, "set format profiles"},
    {"compare", "compare A.h5 [B.h5]",
     "ratios of a figure between cells that differ in the named keys alone", 1, 2,
     "by metric base only skip format"},
    {"doctor", "doctor",
     "looks at what runs depend on here: MPI, GPUs, driver, NCCL, pinned memory, file locks", 0, 0,
     "archive profiles"},
    {"export", "export A.h5 --table TABLE",
     "writes a table of an archive: cells, jobs, turns, steps, sched, kv_events, telemetry, "
     "evictions, kv_access, access_rows, access_kernels or kv_copies",
     1, 1, "table format only skip output,o"},
    {"merge", "merge A.h5 [B.h5...] -o C.h5", "joins archives of the same sweep file in a new one",
     1, 100000, "output,o"},
    {"plan", "plan SWEEP.toml",
     "shows the cells of a sweep, what each is expected to take, and which would run", 1, 1,
     "backend archive retry-quarantined set only skip cell node-memory-gib json profiles"},
    {"report", "report A.h5 [B.h5...] -o DIR",
     "writes a page to look at, DIR/index.html: tables, figures, claims and what is missing", 1, 16,
     "output,o profiles"},
    {"run", "run SWEEP.toml", "runs the cells of a sweep and prints their results", 1, 1,
     "backend archive resume fresh retry-quarantined wait set only skip cell cell-timeout "
     "time-limit node-memory-gib as-sku fake-device jsonl profiles"},
    {"status", "status A.h5", "says how far the run of an archive is: done, running, left, failed",
     1, 1, "watch json"},
    {"submit", "submit SWEEP.toml --sku SKU[,SKU] --archive DIR/A.h5",
     "writes a SLURM job for each GPU of a sweep and one that merges what they leave", 1, 1,
     "sku archive cluster account qos gpus time launcher array print go backend set only skip "
     "profiles"},
    {"table", "table A.h5",
     "a figure by arrival rate and policy for each GPU, beside published values", 1, 1,
     "metric only skip format profiles"},
    {"trace", "trace A.h5 CELL",
     "prints the trace of a cell as JSON lines, or writes it as a page to look at; CELL is its "
     "number or the start of its key",
     2, 2, "steps events requests view beside output,o"},
    {"workload", "workload SWEEP.toml",
     "describes the jobs that a sweep replays, or the tokens of one turn", 1, 1,
     "set only skip job turn profiles"},
};

bool takes(const Command& command, std::string_view option) {
  for (std::string_view rest = command.options; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == option) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

enum class Kind { flag, text, list, number, integer };

struct Option {
  const char* name;
  Kind kind;
  const char* value;  // its name in the help text
  const char* help;
};

/// All options; a command takes those that it names.
constexpr Option kOptions[] = {
    {"backend", Kind::text, "sim", "what executes the steps; overrides [sweep] backend"},
    {"archive", Kind::text, "A.h5", "where the results are; by default <sweep name>.h5"},
    {"resume", Kind::flag, "", "insists on an archive that is there"},
    {"fresh", Kind::flag, "", "moves an archive that is there aside and starts anew"},
    {"retry-quarantined", Kind::flag, "", "also runs cells that killed their process twice"},
    {"wait", Kind::number, "S", "waits so long for an archive that another run uses"},
    {"set", Kind::list, "KEY=VALUE",
     "sets a parameter over the sweep file; of claims the set to judge; may be repeated"},
    {"only", Kind::list, "KEY=V[,V]",
     "only the cells that match KEY=V[,V][,KEY=V...]; of several --only one must match"},
    {"skip", Kind::list, "KEY=V[,V]",
     "not the cells that match; may be repeated, in the same form"},
    {"cell", Kind::text, "CELL", "only this cell: its number, or 8 or more digits of its key"},
    {"cell-timeout", Kind::number, "S", "ends a cell that takes longer"},
    {"time-limit", Kind::number, "S", "starts no cell that would not finish within this time"},
    {"node-memory-gib", Kind::number, "GIB", "host memory of a node; by default what it says"},
    {"as-sku", Kind::text, "SKU", "the workers are exactly this GPU (sim, cpu)"},
    {"fake-device", Kind::text, "NAME,MiB", "the device that the workers find"},
    {"jsonl", Kind::text, "DIR", "writes the trace of each cell that ran as JSON lines"},
    {"job", Kind::text, "J", "a job, by its id or its number from 0"},
    {"turn", Kind::integer, "T", "a turn of the job, from 1 as the answer names them"},
    {"repeats", Kind::integer, "N", "measures N times (3) and reports the best"},
    {"json", Kind::flag, "", "prints JSON"},
    {"lengths", Kind::text, "FILE",
     "requests that a GPU serves at once: a line each, tokens of prompt and answer"},
    {"watch", Kind::flag, "", "again whenever something changes, until nothing is left"},
    {"equal", Kind::flag, "", "compares two archives, volatile columns apart"},
    {"by", Kind::text, "KEY,KEY", "the keys that cells may differ in; the first is compared"},
    {"metric", Kind::text, "NAME", "a figure of the cells (jct_wall_mean_s)"},
    {"base", Kind::text, "KEY=VALUE", "what the others are divided by; by default the first value"},
    {"table", Kind::text, "TABLE", "which table"},
    {"format", Kind::text, "FORMAT", "text, md or csv; of an export csv or jsonl"},
    {"output,o", Kind::text, "FILE", "the file to write"},
    {"steps", Kind::flag, "", "only what happened step by step"},
    {"events", Kind::flag, "", "only what happened to KV"},
    {"requests", Kind::flag, "", "only turns and jobs"},
    {"view", Kind::flag, "", "writes the viewer with the trace in it (-o, by default trace.html)"},
    {"beside", Kind::text, "CELL", "of --view: another cell, on the same clock"},
    {"sku", Kind::text, "SKU[,SKU]", "the GPUs to submit jobs for, one job each"},
    {"cluster", Kind::text, "NAME", "a profile of slurm/clusters (generic), or a file NAME.toml"},
    {"account", Kind::text, "ACCOUNT", "who pays"},
    {"qos", Kind::text, "QOS", "quality of service; by default the cluster profile's"},
    {"gpus", Kind::integer, "N", "GPUs of each job (1); with --array tasks at once (all)"},
    {"time", Kind::text, "H:M:S", "limit of a run; by default what plan expects, with a reserve"},
    {"launcher", Kind::text, "mpirun", "or srun"},
    {"array", Kind::flag, "", "a job array, one cell a task"},
    {"print", Kind::flag, "", "prints the scripts and writes nothing"},
    {"go", Kind::flag, "", "submits the scripts after writing them"},
    {"profiles", Kind::text, "DIR", "folder with gpus/, models/, policies/ and published/"},
};

template <class T>
po::value_semantic* value_of(const Option& option) {
  return po::value<T>()->value_name(option.value);
}

void add(po::options_description& options, const Option& option) {
  auto to = options.add_options();
  switch (option.kind) {
    case Kind::flag:
      to(option.name, option.help);
      break;
    case Kind::text:
      to(option.name, value_of<std::string>(option), option.help);
      break;
    case Kind::list:
      to(option.name, value_of<std::vector<std::string>>(option), option.help);
      break;
    case Kind::number:
      to(option.name, value_of<double>(option), option.help);
      break;
    case Kind::integer:
      to(option.name, value_of<int>(option), option.help);
      break;
  }
}

po::options_description options_of(const Command& command) {
  po::options_description some("Options");
  some.add_options()("help,h", "this text");
  for (const Option& option : kOptions)
    if (takes(command, option.name)) add(some, option);
  return some;
}

void print_help(std::ostream& out) {
  out << "kvsweep: sweeps of KV-cache scheduling policies for LLM agents\n\n";
  for (const Command& command : kCommands)
    out << "  kvsweep " << command.usage << "\n      " << command.purpose << '\n';
  out << "\n`kvsweep COMMAND --help` lists a command's options; `kvsweep --version` what it was "
         "built with.\n";
}

void print_version(std::ostream& out) {
  out << "kvsweep " << kVersion << " (" << kCommit << ")\n"
      << kCompiler << "; " << kMpiVersion << "; HDF5 " << kHdf5Version << "; Boost "
      << kBoostVersion << "; CUDA " << kCudaVersion << '\n';
}

fs::path this_program() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none);
}

/// The first of these folders, seen from the program's, that has a folder of this name.
fs::path folder_with(const char* name, std::initializer_list<const char*> folders) {
  for (const fs::path folder : folders) {
    const fs::path dir = this_program().parent_path() / folder;
    if (fs::exists(dir / name)) return fs::canonical(dir);
  }
  return (this_program().parent_path() / *folders.begin()).lexically_normal();
}

/// The profiles beside the program: in its source tree, or where it was installed.
fs::path default_profiles() { return folder_with("gpus", {"../../../sweeps", "../share/kvsweep"}); }

/// Templates and profiles of clusters, likewise.
fs::path default_scripts() {
  return folder_with("clusters", {"../../../slurm", "../share/kvsweep/slurm"});
}

template <class T, class Stored = T>
std::optional<T> optional(const po::variables_map& given, const char* name) {
  if (!given.count(name)) return std::nullopt;
  return given[name].as<Stored>();
}

std::vector<std::string> list(const po::variables_map& given, const char* name) {
  return optional<std::vector<std::string>>(given, name).value_or(std::vector<std::string>{});
}

std::int64_t seconds_since_1970(const char* variable, const std::string& text) {
  std::int64_t seconds = 0;
  const char* last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, seconds);
  if (error != std::errc() || stop != last)
    throw UsageError(std::string(variable) + " must be seconds since 1970, found \"" + text + '"');
  return seconds;
}

/// What the environment says about this process: the one place that reads it.
void read_environment(Options& options) {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  for (const char* launcher : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE"}) {
    options.in_mpi_job = options.in_mpi_job || !variable(launcher).empty();
  }
  options.slurm_job = variable("SLURM_JOB_ID");
  const std::string end = variable("SLURM_JOB_END_TIME");
  if (!end.empty()) options.end_time = seconds_since_1970("SLURM_JOB_END_TIME", end);
  const fs::path home = variable("HOME");
  const fs::path caches = variable("XDG_CACHE_HOME");  // XDG Base Directory Specification
  if (!caches.empty() || !home.empty())
    options.cache = (caches.empty() ? home / ".cache" : caches) / "kvsweep";
  const std::string scratch = variable("TMPDIR");
  options.scratch = scratch.empty() ? "/tmp" : scratch;
  if (options.profiles.empty()) options.profiles = variable("KVSWEEP_PROFILES");
  if (options.profiles.empty()) options.profiles = default_profiles();
}

/// What the commands that only read archives take.
void read_archive_values(Options& options, const po::variables_map& given) {
  options.watch = given.count("watch") > 0;
  options.equal = given.count("equal") > 0;
  options.by = optional<std::string>(given, "by");
  options.metric = optional<std::string>(given, "metric").value_or("jct_wall_mean_s");
  options.base = optional<std::string>(given, "base");
  options.table = optional<std::string>(given, "table");
  options.format = optional<std::string>(given, "format");
  options.output = optional<fs::path, std::string>(given, "output");
  options.view = given.count("view") > 0;
  options.beside = optional<std::string>(given, "beside");
  for (const char* part : {"steps", "events", "requests"})
    if (given.count(part)) options.trace_parts.emplace_back(part);
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

SubmitOptions read_submit_values(const po::variables_map& given) {
  SubmitOptions submit;
  submit.scripts = default_scripts();
  submit.program = this_program();
  submit.skus = words_of(optional<std::string>(given, "sku").value_or(""));
  submit.cluster = optional<std::string>(given, "cluster").value_or(submit.cluster);
  submit.launcher = optional<std::string>(given, "launcher").value_or(submit.launcher);
  submit.account = optional<std::string>(given, "account");
  submit.qos = optional<std::string>(given, "qos");
  submit.time = optional<std::string>(given, "time");
  submit.gpus = optional<int>(given, "gpus").value_or(submit.gpus);
  submit.gpus_given = given.count("gpus") > 0;
  submit.profiles_given = given.count("profiles") > 0;
  submit.array = given.count("array") > 0;
  submit.print = given.count("print") > 0;
  submit.go = given.count("go") > 0;
  return submit;
}

void read_values(Options& options, const po::variables_map& given) {
  options.arguments = list(given, "argument");
  options.profiles = optional<fs::path, std::string>(given, "profiles").value_or(fs::path());
  options.backend = optional<std::string>(given, "backend");
  options.set = list(given, "set");
  options.only = list(given, "only");
  options.skip = list(given, "skip");
  options.archive = optional<fs::path, std::string>(given, "archive");
  options.resume = given.count("resume") > 0;
  options.fresh = given.count("fresh") > 0;
  options.retry_quarantined = given.count("retry-quarantined") > 0;
  options.wait_s = optional<double>(given, "wait").value_or(0);
  options.cell = optional<std::string>(given, "cell");
  options.cell_timeout_s = optional<double>(given, "cell-timeout");
  options.time_limit_s = optional<double>(given, "time-limit");
  options.node_memory_gib = optional<double>(given, "node-memory-gib");
  options.as_sku = optional<std::string>(given, "as-sku");
  options.fake_device = optional<std::string>(given, "fake-device");
  options.jsonl = optional<fs::path, std::string>(given, "jsonl");
  options.job = optional<std::string>(given, "job");
  options.turn = optional<int>(given, "turn").value_or(1);
  options.repeats = optional<int>(given, "repeats").value_or(3);
  options.json = given.count("json") > 0;
  options.lengths = optional<fs::path, std::string>(given, "lengths");
  read_archive_values(options, given);
  options.submit = read_submit_values(given);
}

void check_submit(const SubmitOptions& submit) {
  if (submit.print && submit.go) throw UsageError("--print and --go exclude each other");
  if (submit.gpus < 1)
    throw UsageError("--gpus must be at least 1, found " + std::to_string(submit.gpus));
  if (submit.launcher != "mpirun" && submit.launcher != "srun")
    throw UsageError("--launcher must be mpirun or srun, found \"" + submit.launcher + '"');
}

void check(const Options& options) {
  check_submit(options.submit);
  if (options.resume && options.fresh) throw UsageError("--resume and --fresh exclude each other");
  if (options.as_sku && options.fake_device)
    throw UsageError("--as-sku and --fake-device exclude each other");
  if (options.command == "trace" && !options.view && (options.beside || options.output))
    throw UsageError("--beside and --output belong to --view");
  if (options.view && !options.trace_parts.empty())
    throw UsageError("--view shows everything: --steps, --events and --requests exclude it");
  if (options.repeats < 1)
    throw UsageError("--repeats must be at least 1, found " + std::to_string(options.repeats));
  const std::pair<const char*, std::optional<double>> limits[] = {
      {"--wait", options.wait_s > 0 ? std::optional(options.wait_s) : std::nullopt},
      {"--cell-timeout", options.cell_timeout_s},
      {"--time-limit", options.time_limit_s},
      {"--node-memory-gib", options.node_memory_gib}};
  for (const auto& [name, value] : limits) {
    if (value && !(*value >= 1e-3 && *value <= 1e8))
      throw UsageError(std::string(name) + " must be between 0.001 and 100000000");
  }
  if (!(options.wait_s >= 0)) throw UsageError("--wait must not be negative");
}

Options read(const Command& command, const std::vector<std::string>& words) {
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
  options.command = command.name;
  read_values(options, given);
  if (options.arguments.size() < command.min_arguments ||
      options.arguments.size() > command.max_arguments) {
    throw UsageError(std::string("usage: kvsweep ") + command.usage);
  }
  check(options);
  read_environment(options);
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
  const auto* command = std::ranges::find(kCommands, first, &Command::name);
  if (command == std::end(kCommands)) {
    std::string known;
    for (const Command& each : kCommands)
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    throw UsageError("unknown command \"" + first + "\", there are: " + known);
  }
  try {
    Options options = read(*command, {words.begin() + 1, words.end()});
    for (const std::string& word : words)
      options.command_line += (options.command_line.empty() ? "" : " ") + word;
    return options;
  } catch (const po::error& error) {
    throw UsageError(first + ": " + error.what());
  }
}

}  // namespace driver
