#pragma once
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sweeps/tables/status.hpp"

namespace driver {

/// The command line is wrong. what() says how.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Subcommand;
class DrainSignals;

/// Where the program runs, as far as the environment and its launcher say.
struct Surroundings {
  bool in_mpi_job = false;               // launched by mpirun or srun
  bool on_one_host = false;              // all ranks of that job, as far as its launcher says
  int tasks = 1;                         // copies of this process, as far as its launcher says
  std::optional<std::int64_t> end_time;  // Unix time at which SLURM ends the job
  std::string slurm_job;                 // empty outside SLURM
  std::string search_path;               // folders of programs, joined by colons
  std::filesystem::path cache;           // what is measured once a machine; empty: nowhere
  std::filesystem::path profiles;        // folder with gpus/, models/, policies/ and experiments/
  bool profiles_given = false;    // other than the program's own, so that jobs need to be told
  std::filesystem::path scripts;  // folder with the templates and clusters/ of submit
  std::string program;            // the path of this one
  std::string command_line;       // quoted for a shell
  std::string command_to_resume;  // quoted for a shell, without --fresh
  const DrainSignals* signals = nullptr;  // of run
};

/// Which cells a command is about.
struct CellChoice {
  std::vector<std::string> only, skip;
};

/// How a sweep file becomes cells.
struct PlanOptions {
  std::vector<std::string> set;
  std::optional<std::string> cell;  // the only one to run: an index or the start of a key
  std::optional<std::string> backend;
  std::optional<sweep::RecordLevel> record;  // how much of each cell is stored
  std::optional<double> node_memory_gib;
};

struct RunOptions {
  bool resume = false;   // insist on an archive that is there
  bool fresh = false;    // move one that is there aside
  bool no_prev = false;  // keep no archive before its last change
  bool retry_quarantined = false;
  bool until_decided = false;  // spends repeats where the winner is undecided
  double wait_s = 0;           // for an archive that is in use
  double wait_space_s = 0;     // while the archive's disk is full
  std::optional<double> cell_timeout_s, time_limit_s;
  std::optional<int> workers;  // processes of this machine that run cells on sim
  std::optional<std::string> as_sku, fake_device;
};

struct TraceOptions {
  bool view = false;                                     // trace as a page
  std::optional<std::string> beside;                     // another CELL in it
  bool steps = false, events = false, requests = false;  // the parts of a trace; none: all
};

struct SubmitOptions {
  std::string sku;                  // as it is given, and taken apart:
  std::vector<std::string> skus;    // one job each
  std::string cluster = "generic";  // a profile of clusters/, or a .toml file
  std::string launcher = "mpirun";  // or "srun"
  std::optional<std::string> account, qos, time;
  std::optional<int> gpus;  // of one SKU's job, by default 1
  bool smoke = false;       // one cell a SKU, drained and requeued on purpose
  bool print = false;       // scripts to standard output, nothing is written
  bool go = false;          // hand the scripts to sbatch
};

/// The choice of results to compare or print.
struct TableOptions {
  std::optional<std::string> by, base, table;
  std::optional<sweep::RecordLevel> to_archive;
  std::string metric = "jct_wall_mean_s";
  std::optional<std::string> slo;
  bool equal = false;
  bool ignore_times = false;  // when archives are compared
};

struct CapacityOptions {
  std::optional<double> most;             // the largest load to try
  std::optional<int> budget;              // cells
  std::optional<std::string> confirm;     // a backend
  std::vector<std::string> price, watts;  // GPU=NUMBER
};

/// The command line of a subcommand, checked. Parts that it does not take keep their defaults.
struct Options : Surroundings,
                 CellChoice,
                 PlanOptions,
                 RunOptions,
                 TraceOptions,
                 SubmitOptions,
                 TableOptions,
                 CapacityOptions {
  const Subcommand* command = nullptr;  // null: help or version was printed
  std::vector<std::string> arguments;   // positional, without the command
  std::optional<std::filesystem::path> archive;
  std::optional<std::filesystem::path> output;
  std::optional<std::string> format;
  bool json = false;
  bool watch = false;                 // status
  std::vector<std::string> fit;       // twin: the cells to fit
  std::string language = "c++";       // new: of the policy
  std::optional<std::string> job;     // workload
  int turn = 1;                       // of the job, from 1
  bool check = false;                 // workload: the argument is a trace
  std::optional<std::string> server;  // doctor
  std::optional<double> minutes;      // verify: for running cells again
  std::optional<std::string> launch;  // words before those of each run that is started
};

/// The first of these folders, seen from the program's in its build tree and where it was
/// installed, that has something of this name, or else the first.
std::filesystem::path beside_program(const char* name, std::initializer_list<const char*> folders);

/// Colors on standard output and standard error where each is a terminal, unless NO_COLOR is set
/// (no-color.org).
void allow_wanted_colors();

/// Reads the command line; prints help or version when asked to. `commands` are all there are, in
/// the order of the help text. Throws UsageError.
Options parse_options(int argc, char** argv, std::span<const Subcommand> commands);

}  // namespace driver
