#include "driver/bundle/commands.hpp"
#include "driver/capacity/command.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

constexpr int kManyArchives = 100'000;

constexpr Subcommand kCommands[] = {
    {"bound", bound, "bound SWEEP.toml | A.h5",
     "prints the mean completion time that no policy can beat, on sim; for an archive also how far "
     "from it each policy is",
     1, 1, "backend set only skip cell profiles"},
    {"capacity", capacity, "capacity SWEEP.toml --slo LIMITS",
     "searches the largest load that each GPU, policy and host memory serves within limits, with "
     "what binds and what it costs",
     1, 1,
     "slo most budget confirm price watts backend archive set launch format "
     "profiles"},
    {"check", check, "check A.h5 | check --equal [--ignore-times] A.h5 B.h5",
     "checks an archive (exit code 5: damaged), or whether two hold the same results (3: not)", 1,
     2, "equal ignore-times"},
    {"claims", claims, "claims A.h5 [B.h5...]",
     "judges published claims by the cells of archives: reproduced, not reproduced, undecided, or "
     "assumed by the model",
     1, kManyArchives, "set format profiles"},
    {"compare", compare, "compare A.h5",
     "prints the ratios of a figure between cells that differ only in the named keys", 1, 1,
     "by metric base only skip format"},
    {"completion", completion, "completion bash|zsh",
     "prints a script that completes commands, options and the keys of --set: eval \"$(kvsweep "
     "completion bash)\"",
     1, 1, ""},
    {"diff", diff, "diff A.h5 CELL CELL",
     "prints the first step at which two cells schedule or keep KV differently, with queue and "
     "pool",
     3, 3, ""},
    {"doctor", doctor, "doctor",
     "checks what runs depend on here: MPI, GPUs, driver, NCCL, pinned memory, file locks; a GPU "
     "is optional unless --backend cuda says that runs need one; with --server what a sweep's "
     "server says of itself",
     0, 0, "backend archive profiles server set only"},
    {"export", export_table, "export A.h5 --table TABLE",
     "writes a table of an archive: cells, jobs, turns, steps, sched, kv_events, telemetry, "
     "evictions, kv_access, access_rows, access_kernels or kv_copies; with --format aiperf or "
     "vllm-bench the turns of each cell as those benchmarks write theirs; with --to-archive LEVEL "
     "-o "
     "B.h5 an archive of the cells at a lower level: summary or jobs",
     1, 1, "table format to-archive only skip output,o"},
    {"fit", fit, "fit A.h5 [SIM.h5]",
     "fits a cost model to the time of steps by the tokens that they compute and read; with SIM.h5 "
     "also prints the errors of simulated cells",
     1, 2, "metric only skip"},
    {"keys", keys, "keys [WORD]",
     "prints the keys of a sweep file, or those that contain a word: default, allowed values, "
     "condition under which a key counts, and meaning",
     0, 1, "format"},
    {"merge", merge, "merge A.h5 [B.h5...] -o C.h5",
     "joins archives of the same sweep file in a new one", 1, kManyArchives, "output,o"},
    {"new", new_policy, "new policy NAME",
     "writes a folder NAME with a policy as a shared object: its source, its test, and a sweep of "
     "it",
     2, 2, "language"},
    {"pack", run_pack, "pack A.h5 [B.h5...] -o DIR",
     "writes archives, what they are judged by and what comes out of them as a folder that verify "
     "judges again",
     1, kManyArchives, "output,o profiles"},
    {"plan", plan, "plan SWEEP.toml",
     "prints the cells of a sweep, their expected times, and which would run", 1, 1,
     "backend archive record retry-quarantined set policy-plugin only skip cell node-memory-gib "
     "json profiles"},
    {"policies", policies, "policies [NAME]",
     "prints the named policies, or the parameters of one of them with their values", 0, 1,
     "profiles"},
    {"report", report, "report A.h5 [B.h5...] -o DIR",
     "writes a page, DIR/index.html: tables, figures, claims and missing cells", 1, kManyArchives,
     "output,o profiles"},
    {"run", run, "run SWEEP.toml", "runs the cells of a sweep and prints their results", 1, 1,
     "backend archive record resume fresh no-prev retry-quarantined wait wait-space set "
     "policy-plugin only skip cell workers cell-timeout time-limit node-memory-gib as-sku "
     "fake-device until-decided budget launch profiles"},
    {"salvage", salvage, "salvage A.h5 -o B.h5",
     "saves the intact results of a damaged archive, of its previous version (A.h5.prev) and of "
     "results not yet merged (A.h5.d) in a new archive, and lists what is lost",
     1, 1, "output,o"},
    {"status", status, "status A.h5",
     "prints the progress of a run: cells done, running, left, failed", 1, 1, "watch json"},
    {"submit", submit, "submit SWEEP.toml --sku SKU[,SKU] --archive DIR/A.h5",
     "writes a SLURM job for each GPU of a sweep and one that merges their archives", 1, 1,
     "sku archive record cluster account qos gpus time launcher smoke print go backend set "
     "only skip profiles"},
    {"table", table, "table A.h5",
     "prints a figure by arrival rate and policy for each GPU, beside published values", 1, 1,
     "metric bound set only skip format profiles"},
    {"trace", trace, "trace A.h5 CELL",
     "prints the trace of a cell as JSON lines, or writes it as a page; CELL is its number or the "
     "start of its key",
     2, 2, "steps events requests view beside format output,o"},
    {"tune", tune, "tune SWEEP.toml -o DIR",
     "searches the parameters of a policy that the sweep's [tune] names, and writes the best as a "
     "policy, with what it gains on seeds that had no part in the search",
     1, 1, "backend set policy-plugin launch output,o profiles"},
    {"twin", twin, "twin A.h5",
     "simulates the cells in which a server was measured, by the constants of its own steps, and "
     "prints both",
     1, 1, "only skip fit set metric profiles"},
    {"verify", run_verify, "verify DIR",
     "judges a folder of pack again: digests, archives, figures, claims, and cells of sim as its "
     "time allows (exit code 5: damaged, 3: something differs)",
     1, 1, "minutes set"},
    {"workload", describe_workload, "workload SWEEP.toml | --check TRACE",
     "describes the jobs that a sweep replays, the tokens of one turn, or a trace", 1, 1,
     "set only skip job turn check profiles"},
};

}  // namespace

std::span<const Subcommand> commands() { return kCommands; }

}  // namespace driver
