"""The names that kvsweep takes from vLLM, held against a vLLM that is installed: flags of its server, fields of requests, metrics."""
import glob
import os
import re
import shlex
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(HERE, "..", "farm")]
from cases import case, expect, expect_equal, main
from vllm_genuine import Plain, require_vllm


def text_of(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def on_a_processor():
    """vLLM asks for its device when it makes the parser."""
    require_vllm()
    import vllm.platforms
    from vllm.platforms.cpu import CpuPlatform
    vllm.platforms._current_platform = CpuPlatform()


def commands():
    """What the sweep files of vLLM start behind `serve`, with each profile's flags and those of server.match and server.steps."""
    match = re.search(r"kind == Kind::vllm\)\s+return (\{\{.*?\}\});", text_of("workers/binding/server_match.cpp"), re.S)[1]
    ours = " ".join(f"{flag} 16" for flag in re.findall(r'"(--[a-z-]+)"', match))
    for path in glob.glob(os.path.join(ROOT, "sweeps/experiments/servers/vllm-*.toml")):
        with open(path, "rb") as file:
            server = tomllib.load(file)["server"]
        for profile in server["profile"].values():
            command = profile.get("command", server["command"]).replace("{server.flags}", profile.get("flags", ""))
            words = re.sub(r"\{[^}]*\}", "16", command)
            steps = "kvsweep.vllm.Scheduler" if "--no-async-scheduling" in words else "kvsweep.vllm.AsyncScheduler"
            yield f"{words.split(' serve ')[1]} {'' if '--max-num-seqs' in words else ours} --scheduler-cls {steps}"


@case("the flags of server.match, server.steps and the sweep files are those of the vLLM that is installed")
def flags():
    on_a_processor()
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    try:
        from vllm.entrypoints.common.cli_args import make_arg_parser
    except ImportError:
        from vllm.entrypoints.openai.cli_args import make_arg_parser
    parser, seen = make_arg_parser(FlexibleArgumentParser()), 0
    for command in commands():
        parsed = parser.parse_args(shlex.split(command))
        expect_equal(parsed.scheduler_cls, command.split()[-1], "the scheduler's class")
        expect("kvsweep" in command and parsed.port == 16, command)
        seen += 1
    expect(seen >= 5, f"{seen} commands")


@case("the fields of requests are those of the vLLM that is installed")
def fields():
    on_a_processor()
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest
    source = text_of("workers/server/dialect/openai.cpp")
    names = set(re.findall(r'body\["(\w+)"\]', source)) | set(re.findall(r'^ +\{?(?:json body\{)?\{"(\w+)", [^}]', source, re.M))
    expect({"max_tokens", "min_tokens", "ignore_eos", "return_token_ids", "request_id", "vllm_xargs", "stream_options"} <= names, names)
    unknown = (names | {"priority", "prompt"}) - set(CompletionRequest.model_fields)
    expect_equal(unknown, set(), "fields that vLLM does not know")
    request = CompletionRequest(model="m", prompt=[1, 2], max_tokens=5, min_tokens=5, ignore_eos=True, return_token_ids=True, stream=True,
                                request_id="a-t0", priority=3, vllm_xargs={"job_id": "a", "is_last_step": True, "tool": "ls"})
    expect_equal(request.model_extra, {}, "fields beside those that it knows")
    xargs = request.to_sampling_params(5, {}).extra_args
    sys.path.insert(0, os.path.join(ROOT, "analysis", "python"))
    from kvsweep.steering import label_of
    told = Plain(request_id=f"cmpl-{request.request_id}-0-0a1b2c3d", sampling_params=Plain(extra_args=xargs))
    expect_equal(label_of(told), ("a", 0, True, "ls"), "job, turn, last and tool")


@case("the metrics that are read are those of the vLLM that is installed")
def metrics():
    on_a_processor()
    from prometheus_client import generate_latest
    from vllm.v1.metrics.loggers import PrometheusStatLogger
    logger = PrometheusStatLogger(Plain(
        observability_config=Plain(show_hidden_metrics=False, kv_cache_metrics=False), scheduler_config=Plain(max_num_seqs=3),
        model_config=Plain(served_model_name="m", max_model_len=100), parallel_config=Plain(),
        cache_config=Plain(metrics_info=lambda: {"block_size": "16", "num_gpu_blocks": "7"})), [0])
    logger.log_engine_initialized()
    page = generate_latest().decode()
    source = text_of("workers/server/dialect/openai.cpp")
    names = set(re.findall(r'"(vllm:\w+)"', source))
    expect(len(names) >= 7, names)
    missing = {name for name in names if not re.search(rf"^{name}[ {{]", page, re.M)}
    expect_equal(missing, set(), "metrics that vLLM does not have")
    for source_of_tokens in re.findall(r'source=\\"(\w+)\\"', source):
        expect(f'source="{source_of_tokens}"' in page, source_of_tokens)
    expect(re.search(r'vllm:cache_config_info\{[^}]*block_size="16"[^}]*num_gpu_blocks="7"', page), "the pool's size")


if __name__ == "__main__":
    main()
