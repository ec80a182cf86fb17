#include "workers/binding/key_rows.hpp"

namespace worker {
namespace {

constexpr const char* kOnServer = "backend = server";

std::vector<KeyRow> rows_of_start() {
  return {
      {.name = "server.kind",
       .type = OneOf{{"vllm", "sglang", "llamacpp", "openai"}},
       .where = kOnServer,
       .says = "What the server speaks; openai is what all servers of the OpenAI API have in "
               "common (docs/servers.md)."},
      {.name = "server.profile",
       .type = AnyText{},
       .fallback = optional("the server as [server] describes it"),
       .where = kOnServer,
       .says =
           "Which of the tables [server.profile.NAME] the server is started by; takes the place "
           "of policy. Such a table sets keys of server.*, server.env.NAME, server.header.NAME "
           "and server.request.FIELD, and sim, the policy that backend sim has in its place."},
      {.name = "server.command",
       .type = AnyText{},
       .fallback = optional("the server is at server.url"),
       .where = kOnServer,
       .says = "Command that starts the server, one per worker: words as in a shell, with "
               "placeholders {port}, {model} and any key of the sweep, as {engine.max_num_seqs}."},
      {.name = "server.prefix",
       .type = AnyText{},
       .fallback = value(""),
       .where = kOnServer,
       .says =
           "Words in front of server.command, as \"apptainer exec --nv vllm.sif\"; no part of a "
           "cell's identity."},
      {.name = "server.flags",
       .type = AnyText{},
       .fallback = value(""),
       .where = kOnServer,
       .says = "What {server.flags} stands for in server.command."},
      {.name = "server.url",
       .type = AnyText{},
       .fallback = optional("server.command starts a server"),
       .where = kOnServer,
       .says = "Address of a server that runs already, as \"http://host:8000\"; no part of a "
               "cell's identity."},
      {.name = "server.version",
       .type = AnyText{},
       .where = kOnServer,
       .says = "Version that the server reports, as `kvsweep doctor --server` prints it; with "
               "another its cells do not run."},
      {.name = "server.model",
       .type = AnyText{},
       .fallback = optional("none is sent"),
       .where = kOnServer,
       .says = "Name of the model in requests and, without server.model_file, what {model} stands "
               "for."},
      {.name = "server.model_file",
       .type = FilePath{},
       .fallback = optional("server.model names the weights"),
       .where = kOnServer,
       .says = "File of weights that {model} stands for."},
  };
}

std::vector<KeyRow> rows_of_use() {
  return {
      {.name = "server.chain",
       .type = OneOf{{"recorded", "generated", "forced"}},
       .fallback = value("recorded"),
       .where = kOnServer,
       .says =
           "What the next turn's prompt continues: the recorded answer, the one that the "
           "server generated, or the recorded one that it was made to generate (llamacpp, vllm)."},
      {.name = "server.match",
       .type = Flag{},
       .fallback = value("false"),
       .where = kOnServer,
       .neutral = "false",
       .says = "Gives the server the sizes engine.kv_tokens, block_size, max_num_seqs, "
               "max_num_batched_tokens and max_model_len by flags of its kind behind "
               "server.command, and refuses a server that reports others."},
      {.name = "server.reset",
       .type = OneOf{{"auto", "restart", "none"}},
       .fallback = value("auto"),
       .where = kOnServer,
       .neutral = "auto",
       .says = "How the server's caches are emptied between cells: by its own reset, which a probe "
               "checks, or else a restart; always by a restart; not at all."},
      {.name = "server.steps",
       .type = Flag{},
       .fallback = value("false"),
       .where = kOnServer,
       .neutral = "false",
       .says = "Starts vllm with a scheduler class that writes its steps, and stores them as "
               "/steps and "
               "/sched; the server needs analysis/python (docs/servers.md#steps)."},
      {.name = "server.vocabulary",
       .type = Whole{8, kMostOf32Bits},
       .fallback = computed("the vocabulary of the key model"),
       .unit = "tokens",
       .where = kOnServer,
       .says = "Ids of prompts are taken modulo this."},
      {.name = "server.ready_s",
       .type = Real{0.1, 86400},
       .fallback = value("900"),
       .unit = "s",
       .where = kOnServer,
       .says = "Longest time from the start of the server until it is ready; no part of a cell's "
               "identity."},
      {.name = "server.silent_s",
       .type = Real{0.1, 86400},
       .fallback = value("300"),
       .unit = "s",
       .where = kOnServer,
       .says = "A turn that receives no token for this long fails its cell: from when it is sent, "
               "so with its time in the server's queue, and then from its last token, whatever "
               "else its stream brings; no part of a cell's identity."},
  };
}

}  // namespace

std::vector<KeyRow> rows_of_server() {
  std::vector<KeyRow> rows = rows_of_start();
  for (KeyRow& row : rows_of_use()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace worker
