#include "workers/binding/key_rows.hpp"

namespace worker {

static const Condition kOnServer = is("backend", {"server"});

using Server = server::ServerConfig;
using server::Chain, server::Kind, server::Reset;

const std::vector<Key> kServerRows = {
    words_for<&C::server, &Server::kind>(
        "server.kind", required(), kOnServer,
        "What the server speaks; openai is what all servers of the OpenAI API have in common "
        "(docs/servers.md).",
        {{"vllm", Kind::vllm},
         {"sglang", Kind::sglang},
         {"llamacpp", Kind::llamacpp},
         {"openai", Kind::openai}}),
    {"server.profile", AnyText{}, no_identity(optional("the server as [server] describes it")),
     kOnServer,
     "Which of the tables [server.profile.NAME] the server is started by; takes the place of "
     "policy. Such a table sets keys of server.*, server.env.NAME, server.header.NAME and "
     "server.request.FIELD, and sim, the policy that backend sim has in its place.",
     to<&C::server, &Server::profile>},
    {"server.command", AnyText{}, no_identity(optional("the server is at server.url")), kOnServer,
     "Command that starts the server, one per worker: words as in a shell, with placeholders "
     "{port}, {model} and any key of the sweep, as {engine.max_num_seqs}."},
    {"server.prefix", AnyText{}, no_identity(value("")), kOnServer,
     "Words in front of server.command, as \"apptainer exec --nv vllm.sif\"; no part of a cell's "
     "identity."},
    {"server.flags", AnyText{}, no_identity(value("")), kOnServer,
     "What {server.flags} stands for in server.command."},
    {"server.url", AnyText{}, no_identity(optional("server.command starts a server")), kOnServer,
     "Address of a server that runs already, as \"http://host:8000\"; no part of a cell's "
     "identity.",
     to<&C::server, &Server::url>},
    {"server.version", AnyText{}, required(), kOnServer,
     "Version that the server reports, as `kvsweep doctor --server` prints it; with another its "
     "cells do not run.",
     to<&C::server, &Server::version>},
    {"server.model", AnyText{}, optional("none is sent"), kOnServer,
     "Name of the model in requests and, without server.model_file, what {model} stands for.",
     to<&C::server, &Server::model>},
    {"server.model_file", FilePath{}, optional("server.model names the weights"), kOnServer,
     "File of weights that {model} stands for."},
    words_for<&C::server, &Server::chain>(
        "server.chain", value("recorded"), kOnServer,
        "What the next turn's prompt continues: the recorded answer, the one that the server "
        "generated, or the recorded one that it was made to generate (llamacpp, vllm).",
        {{"recorded", Chain::recorded},
         {"generated", Chain::generated},
         {"forced", Chain::forced}}),
    {"server.match", Flag{}, neutral(false), kOnServer,
     "Gives the server the sizes engine.kv_tokens, block_size, max_num_seqs, "
     "max_num_batched_tokens and max_model_len, and vllm its kv_dtype, by flags of its kind behind "
     "server.command, and refuses a server that reports other sizes."},
    words_for<&C::server, &Server::reset>(
        "server.reset", neutral("auto"), kOnServer,
        "How the server's caches are emptied between cells: by its own reset, which a probe "
        "checks, or else a restart; always by a restart; not at all.",
        {{"auto", Reset::automatic}, {"restart", Reset::restart}, {"none", Reset::none}}),
    {"server.steps", Flag{}, neutral(false), kOnServer,
     "Starts vllm with a scheduler class that writes its steps, and stores them as /steps and "
     "/sched; the server needs analysis/python (docs/servers.md#steps).",
     to<&C::server, &Server::steps>},
    {"server.vocabulary", Whole{8, kMostOf32Bits, "tokens"},
     computed("the vocabulary of the key model"), kOnServer,
     "Ids of prompts are taken modulo this."},
    {"server.ready_s", Real{0.1, 86400, "s"}, no_identity(value(900)), kOnServer,
     "Longest time from the start of the server until it is ready; no part of a cell's identity.",
     to<&C::server, &Server::ready_s>},
    {"server.silent_s", Real{0.1, 86400, "s"}, no_identity(value(300)), kOnServer,
     "A turn that receives no token for this long fails its cell: from when it is sent, so with "
     "its time in the server's queue, and then from its last token, whatever else its stream "
     "brings; no part of a cell's identity.",
     to<&C::server, &Server::silent_s>},
};

}  // namespace worker
