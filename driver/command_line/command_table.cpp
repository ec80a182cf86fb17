#include "driver/command_line/command_table.hpp"

#include <algorithm>

namespace driver {
namespace {

const Option kOptions[] = {
    {"backend", &Options::backend, "sim", "what executes the steps; overrides [sweep] backend"},
    {"archive", &Options::archive, "A.h5", "where the results are; by default <sweep name>.h5"},
    {"record", &Options::record, "LEVEL",
     "how much of each cell is stored: summary (its figures), jobs (also its jobs and turns) or "
     "all (the default); overrides [sweep] record"},
    {"resume", &Options::resume, "", "fails if there is no archive"},
    {"no-prev", &Options::no_prev, "", "keeps no A.h5.prev, the archive before its last change"},
    {"fresh", &Options::fresh, "",
     "moves an existing archive and its files aside, and starts with an empty one"},
    {"retry-quarantined", &Options::retry_quarantined, "",
     "also runs cells that killed their process twice"},
    {"until-decided", &Options::until_decided, "",
     "runs three repeats of each cell, and more of [repeat] n only where the winner is undecided"},
    {"wait", &Options::wait_s, "S", "seconds to wait for an archive that another run uses"},
    {"wait-space", &Options::wait_space_s, "S",
     "seconds to wait (3600) for space while the archive's disk is full"},
    {"set", &Options::set, "KEY=VALUE",
     "overrides a parameter of the sweep file; for claims: the set to judge; may be repeated"},
    {"policy-plugin", &Options::policy_plugin, "FILE",
     "a policy as a shared object or Python file: decides about the queue, admission, retention "
     "and eviction as far as it offers that, or where the sweep or the policy that is tuned says "
     "\"plugin\""},
    {"language", &Options::language, "c++|c|python", "of a new policy"},
    {"only", &Options::only, "KEY=V[,V]",
     "only the cells that match KEY=V[,V][,KEY=V...]; of several --only one must match"},
    {"skip", &Options::skip, "KEY=V[,V]",
     "leaves out the cells that match, in the same form; may be repeated"},
    {"fit", &Options::fit, "KEY=V[,V]",
     "the constants are fitted to the steps of these cells, and the others are judged"},
    {"cell", &Options::cell, "CELL", "only this cell: its number, or 8 or more digits of its key"},
    {"cell-timeout", &Options::cell_timeout_s, "S",
     "ends a cell that takes longer; without it one that makes no progress for 10 minutes"},
    {"time-limit", &Options::time_limit_s, "S",
     "starts no cell that would not finish within this time"},
    {"node-memory-gib", &Options::node_memory_gib, "GIB",
     "host memory of a node; by default what the node reports"},
    {"workers", &Options::workers, "N",
     "without mpirun, the cells on sim that run at once; by default one a processor core"},
    {"as-sku", &Options::as_sku, "SKU", "the workers are exactly this GPU (sim, cpu)"},
    {"fake-device", &Options::fake_device, "NAME,MiB", "the device that the workers find"},
    {"job", &Options::job, "J", "a job, by its id or its number from 0"},
    {"turn", &Options::turn, "T", "a turn of the job, counted from 1"},
    {"check", &Options::check, "",
     "reads a trace, and says what is wrong with it or how it was understood"},
    {"json", &Options::json, "", "prints JSON"},
    {"watch", &Options::watch, "",
     "prints again whenever something changes, until nothing is left"},
    {"equal", &Options::equal, "", "compares two archives, except volatile columns"},
    {"ignore-times", &Options::ignore_times, "",
     "with --equal: compares what was asked and answered, turn by turn; not times, nor hits, steps "
     "and figures, which depend on them"},
    {"minutes", &Options::minutes, "M", "minutes for running cells again (10)"},
    {"by", &Options::by, "KEY,KEY", "the keys that cells may differ in; the first is compared"},
    {"metric", &Options::metric, "NAME", "a figure of the cells (jct_wall_mean_s)"},
    {"bound", &Options::bound, "",
     "also gives the mean completion time that no policy can beat, and how far from it each is"},
    {"slo", &Options::slo, "NAME=S,...", "limits of figures of a cell (ttft_p90=2,tpot_p90=0.05)"},
    {"most", &Options::most, "LOAD", "the largest load to try; by default that of the axis"},
    {"budget", &Options::budget, "CELLS", "asks for no more cells than this"},
    {"confirm", &Options::confirm, "BACKEND",
     "runs the capacities and the loads above them on cpu, cuda or server, too"},
    {"price", &Options::price, "GPU=USD", "price of a GPU's hour; may be repeated"},
    {"watts", &Options::watts, "GPU=W",
     "power of a GPU, by default its power limit; may be repeated"},
    {"base", &Options::base, "KEY=VALUE",
     "the value that the others are divided by; by default the first"},
    {"server", &Options::server, "SWEEP.toml",
     "starts the server of the sweep's first cell, or asks the one at its URL: version, model, "
     "pool, metrics, and whether its caches can be emptied"},
    {"table", &Options::table, "TABLE", "which table"},
    {"format", &Options::format, "FORMAT",
     "text or csv; for export: csv, jsonl, aiperf or vllm-bench; for keys: text or md; for trace: "
     "jsonl or perfetto"},
    {"to-archive", &Options::to_archive, "LEVEL",
     "writes an archive at the level summary or jobs, to keep or to send, in place of a table"},
    {"output,o", &Options::output, "FILE", "the file to write; for report, tune, pack: the folder"},
    {"steps", &Options::steps, "", "only the steps"},
    {"events", &Options::events, "", "only the KV events"},
    {"requests", &Options::requests, "", "only turns and jobs"},
    {"view", &Options::view, "",
     "writes the viewer with the trace in it (-o, by default trace.html)"},
    {"beside", &Options::beside, "CELL", "with --view: another cell, on the same clock"},
    {"sku", {}, "SKU[,SKU]", "the GPUs to submit jobs for, one job each"},
    {"cluster", &Options::cluster, "NAME",
     "a profile of slurm/clusters (generic), or a file NAME.toml"},
    {"account", &Options::account, "ACCOUNT", "the account to charge"},
    {"qos", &Options::qos, "QOS", "quality of service; by default the cluster profile's"},
    {"gpus", &Options::gpus, "N", "GPUs of each job (1)"},
    {"time", &Options::time, "TIME",
     "time limit of a run, as Slurm has it: 90, 1:30:00, 1-12 (days-hours); by default the "
     "estimate of plan with a reserve"},
    {"launch", &Options::launch, "COMMAND", "what starts the runs, as \"mpirun -n 8\""},
    {"launcher", &Options::launcher, "mpirun", "or srun"},
    {"smoke", &Options::smoke, "",
     "for a new cluster: of each SKU the cell that takes about two minutes, whose job drains and "
     "requeues itself once"},
    {"print", &Options::print, "", "prints the scripts and writes nothing"},
    {"go", &Options::go, "", "submits the scripts after writing them"},
    {"profiles", {}, "DIR", "folder with gpus/, models/, policies/ and published/"},
};

}  // namespace

bool takes(const Subcommand& command, std::string_view option) {
  for (std::string_view rest = command.options; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == option) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::span<const Option> options() { return kOptions; }

}  // namespace driver
