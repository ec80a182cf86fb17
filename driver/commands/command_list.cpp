#include "driver/commands/commands.hpp"
#include "driver/search/commands.hpp"

namespace driver {
namespace {

constexpr int kManyArchives = 100'000;

// Options that mean the same in several commands.

const Option kBackend = {"backend", &Options::backend, "sim",
                         "what executes the steps; overrides [sweep] backend"};
const Option kArchive = {"archive", &Options::archive, "A.h5",
                         "where the results are; by default <sweep name>.h5"};
const Option kRecord = {
    "record", &Options::record, "LEVEL",
    "how much of each cell is stored: summary (its figures), jobs (also its jobs and turns) or all "
    "(the default); overrides [sweep] record"};
const Option kRetryQuarantined = {"retry-quarantined", &Options::retry_quarantined, "",
                                  "also runs cells that killed their process twice"};
const Option kSet = {"set", &Options::set, "KEY=VALUE",
                     "overrides a parameter of the sweep file; may be repeated"};
const Option kSetFile = {"set", &Options::set, "KEY=FILE",
                         "names a file that cells read, as workload.path=FILE: an archive has only "
                         "its digest; may be repeated"};
const Option kOnly = {
    "only", &Options::only, "KEY=V[,V]",
    "only the cells that match KEY=V[,V][,KEY=V...]; of several --only one must match"};
const Option kSkip = {"skip", &Options::skip, "KEY=V[,V]",
                      "leaves out the cells that match, in the same form; may be repeated"};
const Option kCell = {"cell", &Options::cell, "CELL",
                      "only this cell: its number, or 8 or more digits of its key"};
const Option kNodeMemory = {"node-memory-gib", &Options::node_memory_gib, "GIB",
                            "host memory of a node; by default what the node reports"};
const Option kMetric = {"metric", &Options::metric, "NAME",
                        "a figure of the cells (jct_wall_mean_s)"};
const Option kFormat = {"format", &Options::format, "FORMAT", "text or csv"};
const Option kLaunch = {"launch", &Options::launch, "COMMAND",
                        "what starts the runs, as \"mpirun -n 8\""};
const Option kBudget = {"budget", &Options::budget, "CELLS", "asks for no more cells than this"};
const Option kFile = {"output,o", &Options::output, "FILE", "the file to write"};
const Option kFolder = {"output,o", &Options::output, "DIR", "the folder to write"};
const Option kJson = {"json", &Options::json, "", "prints JSON"};
const Option kProfiles = {"profiles", &Options::profiles, "DIR",
                          "folder with gpus/, models/, policies/ and published/"};

const std::vector<Subcommand> kCommands = {
    Subcommand(bound, "bound A.h5",
               "prints how far each policy is from the mean completion time that none can beat on "
               "sim, and of each cell its bound and its misses",
               1, 1, {kMetric, kSetFile, kOnly, kSkip, kProfiles}),
    Subcommand(
        capacity, "capacity SWEEP.toml --slo LIMITS",
        "searches the largest load that each GPU, policy and host memory serves within limits, "
        "with what binds and what it costs",
        1, 1, {kBudget, kBackend, kArchive, kSet, kLaunch, kFormat, kProfiles},
        {{"slo", &Options::slo, "METRIC=NUMBER,...",
          "limits of figures of a cell (ttft_p90=2,tpot_p90=0.05)"},
         {"most", &Options::most, "LOAD", "the largest load to try; by default that of the axis"},
         {"confirm", &Options::confirm, "BACKEND",
          "runs the capacities and the loads above them on cpu, cuda or server, too"},
         {"price", &Options::price, "GPU=USD", "price of a GPU's hour; may be repeated"},
         {"watts", &Options::watts, "GPU=W",
          "power of a GPU, by default its power limit; may be repeated"}}),
    Subcommand(
        check, "check A.h5 | check --equal [--ignore-times] A.h5 B.h5",
        "checks an archive (exit code 5: damaged), or whether two hold the same results (3: not)",
        1, 2, {},
        {{"equal", &Options::equal, "", "compares two archives, except volatile columns"},
         {"ignore-times", &Options::ignore_times, "",
          "with --equal: compares what was asked and answered, turn by turn; not times, nor hits, "
          "steps and figures, which depend on them"}}),
    Subcommand(claims, "claims A.h5 [B.h5...]",
               "judges published claims by the cells of archives: reproduced, not reproduced, "
               "undecided, or assumed by the model",
               1, kManyArchives, {kFormat, kProfiles},
               {{"set", &Options::set, "NAME", "judges this set of claims alone"}}),
    Subcommand(compare, "compare A.h5",
               "prints the ratios of a figure between cells that differ only in the named keys", 1,
               1, {kMetric, kOnly, kSkip, kFormat},
               {{"by", &Options::by, "KEY,KEY",
                 "the keys that cells may differ in; the first is compared"},
                {"base", &Options::base, "KEY=VALUE",
                 "the value that the others are divided by; by default the first"}}),
    Subcommand(completion, "completion bash|zsh",
               "prints a script that completes commands, options and the keys of --set: eval "
               "\"$(kvsweep completion bash)\"",
               1, 1, {}),
    Subcommand(diff, "diff A.h5 CELL CELL",
               "prints the first step at which two cells schedule or keep KV differently, with "
               "queue and pool",
               3, 3, {}),
    Subcommand(
        doctor, "doctor",
        "checks what runs depend on here: MPI, GPUs, driver, NCCL, pinned memory, file locks", 0, 0,
        {kSet, kOnly, kProfiles},
        {{"backend", &Options::backend, "cuda", "a GPU is optional unless runs need one"},
         {"archive", &Options::archive, "A.h5", "checks the folder of this archive"},
         {"server", &Options::server, "SWEEP.toml",
          "starts the server of the sweep's first cell, or asks the one at its URL: version, "
          "model, pool, metrics, and whether its caches can be emptied"}}),
    Subcommand(export_table, "export A.h5 --table TABLE",
               "writes a table of an archive: cells, jobs, turns, steps, sched, kv_events, "
               "telemetry, evictions, kv_access, access_rows or access_kernels",
               1, 1, {kOnly, kSkip, kFile},
               {{"table", &Options::table, "TABLE", "which table"},
                {"format", &Options::format, "FORMAT",
                 "csv or jsonl; aiperf or vllm-bench: the turns of each cell as those benchmarks "
                 "write theirs"},
                {"to-archive", &Options::to_archive, "LEVEL",
                 "writes an archive of all cells at the level summary or jobs, to keep or to send, "
                 "in place of a table"}}),
    Subcommand(fit, "fit A.h5",
               "fits a cost model to the time of steps by the tokens that they compute and read", 1,
               1, {kOnly, kSkip}),
    Subcommand(keys, "keys [WORD]",
               "prints the keys of a sweep file, or those that contain a word: default, allowed "
               "values, condition under which a key counts, and meaning",
               0, 1, {}, {{"format", &Options::format, "FORMAT", "text or md"}}),
    Subcommand(merge, "merge A.h5 [B.h5...] -o C.h5",
               "joins archives of the same sweep file in a new one", 1, kManyArchives, {kFile}),
    Subcommand(new_policy, "new policy NAME",
               "writes a folder NAME with a policy as a shared object: its source, its test, and a "
               "sweep of it",
               2, 2, {}, {{"language", &Options::language, "c++|c|python", "of the new policy"}}),
    Subcommand(pack, "pack A.h5 [B.h5...] -o DIR",
               "writes archives, what they are judged by and what comes out of them as a folder "
               "that verify judges again",
               1, kManyArchives, {kFolder, kProfiles}),
    Subcommand(plan, "plan SWEEP.toml",
               "prints the cells of a sweep, their expected times, and which would run", 1, 1,
               {kBackend, kArchive, kRecord, kRetryQuarantined, kSet, kOnly, kSkip, kCell,
                kNodeMemory, kJson, kProfiles}),
    Subcommand(policies, "policies [NAME]",
               "prints the named policies, or the parameters of one of them with their values", 0,
               1, {kProfiles}),
    Subcommand(report, "report A.h5 [B.h5...] -o DIR",
               "writes a page, DIR/index.html: tables, figures, claims and missing cells", 1,
               kManyArchives, {kFolder, kProfiles}),
    Subcommand(
        run, "run SWEEP.toml", "runs the cells of a sweep and prints their results", 1, 1,
        {kBackend, kArchive, kRecord, kRetryQuarantined, kSet, kOnly, kSkip, kCell, kNodeMemory,
         kBudget, kLaunch, kProfiles},
        {{"resume", &Options::resume, "", "fails if there is no archive"},
         {"fresh", &Options::fresh, "",
          "moves an existing archive and its files aside, and starts with an empty one"},
         {"no-prev", &Options::no_prev, "",
          "keeps no A.h5.prev, the archive before its last change"},
         {"wait", &Options::wait_s, "S", "seconds to wait for an archive that another run uses"},
         {"wait-space", &Options::wait_space_s, "S",
          "seconds to wait (3600) for space while the archive's disk is full"},
         {"workers", &Options::workers, "N",
          "without mpirun, the cells on sim that run at once; by default one a processor core"},
         {"cell-timeout", &Options::cell_timeout_s, "S",
          "ends a cell that takes longer; without it one that makes no progress for 10 minutes"},
         {"time-limit", &Options::time_limit_s, "S",
          "starts no cell that would not finish within this time"},
         {"as-sku", &Options::as_sku, "SKU", "the workers are exactly this GPU (sim, cpu)"},
         {"fake-device", &Options::fake_device, "NAME,MiB", "the device that the workers find"},
         {"until-decided", &Options::until_decided, "",
          "runs three repeats of each cell, and more of [repeat] n only where the winner is "
          "undecided"}}),
    Subcommand(salvage, "salvage A.h5 -o B.h5",
               "saves the intact results of a damaged archive, of its previous version (A.h5.prev) "
               "and of results not yet merged (A.h5.d) in a new archive, and lists what is lost",
               1, 1, {kFile}),
    Subcommand(status, "status A.h5",
               "prints the progress of a run: cells done, running, left, failed", 1, 1, {kJson},
               {{"watch", &Options::watch, "",
                 "prints again whenever something changes, until nothing is left"}}),
    Subcommand(
        submit, "submit SWEEP.toml --sku SKU[,SKU] --archive DIR/A.h5",
        "writes a SLURM job for each GPU of a sweep and one that merges their archives", 1, 1,
        {kArchive, kRecord, kBackend, kSet, kOnly, kSkip, kProfiles},
        {{"sku", &Options::sku, "SKU[,SKU]", "the GPUs to submit jobs for, one job each"},
         {"cluster", &Options::cluster, "NAME",
          "a profile of slurm/clusters (generic), or a file NAME.toml"},
         {"account", &Options::account, "ACCOUNT", "the account to charge"},
         {"qos", &Options::qos, "QOS", "quality of service; by default the cluster profile's"},
         {"time", &Options::time, "TIME",
          "time limit of a run, as Slurm has it: 90, 1:30:00, 1-12 (days-hours); by default the "
          "estimate of plan with a reserve"},
         {"gpus", &Options::gpus, "N", "GPUs of each job (1)"},
         {"launcher", &Options::launcher, "mpirun", "or srun"},
         {"smoke", &Options::smoke, "",
          "for a new cluster: of each SKU the cell that takes about two minutes, whose job drains "
          "and requeues itself once"},
         {"print", &Options::print, "", "prints the scripts and writes nothing"},
         {"go", &Options::go, "", "submits the scripts after writing them"}}),
    Subcommand(table, "table A.h5",
               "prints a figure by arrival rate and policy for each GPU, beside published values",
               1, 1, {kMetric, kOnly, kSkip, kFormat, kProfiles}),
    Subcommand(trace, "trace A.h5 CELL",
               "prints the trace of a cell as JSON lines, or writes it as a page; CELL is its "
               "number or the start of its key",
               2, 2, {kFile},
               {{"steps", &Options::steps, "", "only the steps"},
                {"events", &Options::events, "", "only the KV events"},
                {"requests", &Options::requests, "", "only turns and jobs"},
                {"view", &Options::view, "",
                 "writes the viewer with the trace in it (-o, by default trace.html)"},
                {"beside", &Options::beside, "CELL",
                 "with --view: another cell, on the same clock"},
                {"format", &Options::format, "FORMAT", "jsonl or perfetto"}}),
    Subcommand(tune, "tune SWEEP.toml -o DIR",
               "searches the parameters of a policy that the sweep's [tune] names, and writes the "
               "best as a policy, with what it gains on seeds that had no part in the search",
               1, 1, {kBackend, kSet, kLaunch, kFolder, kProfiles}),
    Subcommand(twin, "twin A.h5",
               "simulates measured cells by the constants in the profile of their card, and prints "
               "both with "
               "the errors of the simulated ones",
               1, 1,
               {kOnly,
                kSkip,
                kSet,
                kMetric,
                kProfiles,
                {"fit", &Options::fit, "KEY=V[,V]",
                 "the constants are fitted to the steps of these cells, and the others are "
                 "judged"}}),
    Subcommand(verify, "verify DIR",
               "judges a folder of pack again: digests, archives, claims, and cells of sim as its "
               "time allows (exit code 5: damaged, 3: something differs)",
               1, 1, {kSetFile},
               {{"minutes", &Options::minutes, "M", "minutes for running cells again (10)"}}),
    Subcommand(describe_workload, "workload SWEEP.toml | --check TRACE",
               "describes the jobs that a sweep replays, the tokens of one turn, or a trace", 1, 1,
               {kSet, kOnly, kSkip, kProfiles},
               {{"job", &Options::job, "J", "a job, by its id or its number from 0"},
                {"turn", &Options::turn, "T", "a turn of the job, counted from 1"},
                {"check", &Options::check, "",
                 "reads a trace, and says what is wrong with it or how it was understood"}})};

}  // namespace

std::span<const Subcommand> commands() { return kCommands; }

}  // namespace driver
