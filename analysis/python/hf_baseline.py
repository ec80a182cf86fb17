#!/usr/bin/env python3
"""The naive baseline of the PagedAttention lab: Hugging Face generate() on prompts of one text.

    python3 hf_baseline.py --gpu a100-40gb -o hf.json               # 16 prompts in one padded batch, 128 new tokens
    python3 hf_baseline.py --gpu a100-40gb --batch 1 -o hf-1.json   # one after the other
    python3 hf_baseline.py --gpu h200-141gb --random-weights -o hf.json   # without a checkpoint
    kvsweep report lab-naive.h5 hf.json -o report/

Needs torch and transformers, a GPU with room for the model, and access to its weights. A model of the same shape with random
weights takes as long for each token, since no sequence ends early. The result is an external cell
(docs/report.md) that is shown beside those of sweeps/experiments/lab-naive.toml. Tokens count up to each
sequence's end; what a batch pads does not. One pass warms up; the rate is the median of the passes that follow.
"""
import argparse
import json
import pathlib
import platform
import statistics
import sys
import time

PROMPT = "Write a short story about AI."


def options(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="meta-llama/Llama-3.1-8B-Instruct", help="name or folder of a causal language model")
    parser.add_argument("--as-model", default="llama-3.1-8b", help="its name in sweeps/models")
    parser.add_argument("--random-weights", action="store_true", help="the shape of --as-model with random weights, prompts of random tokens")
    parser.add_argument("--prompt-tokens", type=int, default=16, help="with --random-weights")
    parser.add_argument("--gpu", required=True, help="the card's name in sweeps/gpus")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--batch", type=int, default=16, help="prompts at once")
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--stop-early", action="store_true", help="let sequences end before max-new-tokens, as the lab does")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    given = parser.parse_args(words)
    for name in ("prompts", "batch", "max_new_tokens", "repeats", "prompt_tokens"):
        if getattr(given, name) < 1:
            parser.error(f"{name} must be at least 1, found {getattr(given, name)}")
    return given


def generated(sequence, end_ids):
    """Tokens of an answer up to and including its end token."""
    for at, token in enumerate(sequence):
        if token in end_ids:
            return at + 1
    return len(sequence)


class Model:
    """A model and tokenizer loaded by transformers: prompts in, answers out."""

    def __init__(self, name):
        import torch
        import transformers

        self.torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, padding_side="left")
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        # Moved in one step, since device_map needs another package.
        dtype = "torch_dtype" if int(transformers.__version__.split(".")[0]) < 5 else "dtype"
        self.model = transformers.AutoModelForCausalLM.from_pretrained(name, **{dtype: torch.bfloat16}).to("cuda").eval()
        ends = self.model.generation_config.eos_token_id
        self.end_ids = set(ends if isinstance(ends, (list, tuple)) else [ends]) - {None}
        self.pad = self.tokenizer.pad_token_id
        self.name_software(transformers)

    def name_software(self, transformers):
        torch = self.torch
        self.software = {"transformers": transformers.__version__, "torch": torch.__version__, "device": torch.cuda.get_device_name()}

    def prompt_tokens(self):
        return len(self.tokenizer(PROMPT)["input_ids"])

    def prompts(self, count):
        return self.tokenizer([PROMPT] * count, return_tensors="pt", padding=True).to("cuda")

    def answer(self, count, new_tokens, stop_early):
        """Generates for `count` prompts at once; returns the tokens of each answer."""
        inputs = self.prompts(count)
        least = {} if stop_early else {"min_new_tokens": new_tokens}
        with self.torch.inference_mode():
            outputs = self.model.generate(**inputs, max_new_tokens=new_tokens, do_sample=False, pad_token_id=self.pad, **least)
        answers = outputs[:, inputs["input_ids"].shape[1]:].tolist()  # waits for the device
        return [generated(each, self.end_ids) for each in answers]

    def peak_bytes(self):
        return int(self.torch.cuda.max_memory_allocated())


class RandomModel(Model):
    """A model of a profile's shape (sweeps/models, Llama architecture) with random weights, generated on the GPU without downloads."""

    PROFILES = pathlib.Path(__file__).resolve().parents[2] / "sweeps" / "models"

    def __init__(self, profile, prompt_tokens):
        import tomllib

        import torch
        import transformers

        self.torch, self.length = torch, prompt_tokens
        shape = tomllib.loads((self.PROFILES / f"{profile}.toml").read_text())
        if shape["architecture"] != "llama":
            sys.exit(f"hf_baseline: --random-weights makes models of the architecture llama, {profile} is {shape['architecture']}")
        config = transformers.LlamaConfig(
            num_hidden_layers=shape["layers"], hidden_size=shape["hidden"], num_attention_heads=shape["heads"],
            num_key_value_heads=shape["kv_heads"], head_dim=shape["head_dim"], intermediate_size=shape["intermediate"],
            vocab_size=shape["vocab"], max_position_embeddings=shape["max_context"], rms_norm_eps=shape["norm_eps"],
            tie_word_embeddings=shape["tied_embeddings"], bos_token_id=None, eos_token_id=None, pad_token_id=0)
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            self.model = transformers.LlamaForCausalLM(config).eval()
        torch.set_default_dtype(before)
        self.end_ids, self.pad, self.vocab = set(), 0, shape["vocab"]
        self.name_software(transformers)
        self.software["weights"] = "random"

    def prompt_tokens(self):
        return self.length

    def prompts(self, count):
        ids = self.torch.randint(1, self.vocab, (count, self.length), device="cuda")
        return {"input_ids": ids, "attention_mask": self.torch.ones_like(ids)}


def measure(model, given, clock=time.perf_counter):
    """Seconds and generated tokens of each pass over all prompts, except the first."""
    passes = []
    for _ in range(given.repeats + 1):
        start, tokens = clock(), 0
        for first in range(0, given.prompts, given.batch):
            tokens += sum(model.answer(min(given.batch, given.prompts - first), given.max_new_tokens, given.stop_early))
        passes.append((clock() - start, tokens))
    return passes[1:]


def result(model, given, passes):
    """The external cell."""
    prompt = model.prompt_tokens()
    output = statistics.median(tokens / seconds for seconds, tokens in passes)
    total = statistics.median((tokens + given.prompts * prompt) / seconds for seconds, tokens in passes)
    software = ", ".join(f"{name} {version}" for name, version in model.software.items() if name not in ("device", "weights"))
    if "weights" in model.software:
        software += f", {model.software['weights']} weights"
    return {
        "format": "kvsweep-external", "version": 1, "name": "generate()", "experiment": "lab-naive",
        "kind": f"MEASURED ({software}, {model.software['device']})",
        "config": {"backend": "external", "gpu": given.gpu, "model": given.as_model, "policy": "contiguous", "engine.max_num_seqs": given.batch,
                   "workload.kind": "fixed", "workload.n": given.prompts, "workload.prompt": prompt, "workload.output": given.max_new_tokens},
        "figures": {"output_tok_per_s": output, "total_tok_s": total, "makespan_s": statistics.median(seconds for seconds, _ in passes),
                    "jobs": given.prompts},
        "passes": [{"seconds": seconds, "output_tokens": tokens} for seconds, tokens in passes],
        "peak_memory_bytes": model.peak_bytes(), "host": platform.node(), "software": model.software,
    }


def main(words=None, make_model=Model):
    given = options(words)
    try:
        model = RandomModel(given.as_model, given.prompt_tokens) if given.random_weights else make_model(given.model)
    except ImportError as missing:
        sys.exit(f"hf_baseline: {missing}; it needs torch and transformers (pip install torch transformers)")
    found = result(model, given, measure(model, given))
    given.output.write_text(json.dumps(found, indent=1) + "\n")
    print(f"HF throughput: {found['figures']['output_tok_per_s']:.1f} tok/s ({given.batch} at once, median of {given.repeats}): {given.output}")


if __name__ == "__main__":
    main()
