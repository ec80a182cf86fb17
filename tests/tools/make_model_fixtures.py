#!/usr/bin/env python3
"""Makes tests/fixtures/models: small models and the logits that Hugging Face transformers computes with them.

    make_model_fixtures.py REPOSITORY OUT

Needs torch, transformers, safetensors and numpy; takes a minute on a CPU. OUT/README.md, which this script writes too,
describes the files.
"""
import json
import math
import platform
import sys
import tomllib
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaConfig, OPTConfig, Qwen2Config, Qwen3Config
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

BLOCK = 16
PROMPT_LENGTHS = (1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK)
GREEDY_PROMPT = 3
GREEDY_TOKENS = 64
ROUNDED = {"bfloat16": torch.bfloat16, "float16": torch.float16}

README = """# Small models and their logits

Made by `tests/tools/make_model_fixtures.py`; `made_with` in each reference.json names the versions.

| file | what |
|---|---|
| NAME/config.json | as transformers writes it |
| NAME/model.safetensors | the weights, where `weights.kind` is `safetensors` |
| NAME/reference.json | prompts and places in reference.bin |
| NAME/reference.bin | float32, little-endian; places count floats from its start |
| rope.json | inverse frequencies and scale of each model profile with rotary positions |

Where `weights.kind` is `random` there is no file of weights: they are `random_weights(config of weights.profile,
weights.seed)` in float32, not rounded to the profile's type; `weights.sum` and `weights.sum_abs` over all of them, in
float64, tell whether both sides have the same.

reference.json: `columns` are 8 tokens of the vocabulary. Each of `prompts` has its `tokens`; at `column_logits` stand
[tokens][8] logits of `columns` after each position, at `last_logits` the [vocab] logits after the last one;
`max_abs_logit` is over all positions and the whole vocabulary. `greedy` continues `prompts[greedy.prompt]` by the 64
`tokens` of highest logit; at `gap` stand the [64] distances from the highest to the second logit, at `column_logits`
the [prompt tokens + 63][8] logits of feeding prompt and continuation but its last token. All of that is float32
arithmetic on a CPU with eager attention. `errors` says how far transformers itself is off with weights and arithmetic
in bfloat16 and float16: relative L2 distance over the columns and over the last logits, the largest absolute one over
all logits, the share of positions with the same highest logit; at top level the relative L2 distance over everything
stored.
"""


def rope_parameters(rope):
    names = {"original_max_context": "original_max_position_embeddings", "theta": "rope_theta", "scaling": "rope_type"}
    parameters = {names.get(key, key): value for key, value in rope.items()}
    if parameters["rope_type"] == "none":
        parameters["rope_type"] = "default"
    return parameters


def family_of(p):
    if p["architecture"] == "opt":
        return OPTConfig
    return Qwen2Config if p.get("qkv_biases") else Qwen3Config if p.get("qk_norms") else LlamaConfig


def transformers_config(p):
    """From the keys of a model profile."""
    family = family_of(p)
    if family is not OPTConfig:
        return family(
            vocab_size=p["vocab"], hidden_size=p["hidden"], intermediate_size=p["intermediate"],
            num_hidden_layers=p["layers"], num_attention_heads=p["heads"], num_key_value_heads=p["kv_heads"],
            head_dim=p["head_dim"], max_position_embeddings=p["max_context"], rms_norm_eps=p["norm_eps"],
            tie_word_embeddings=p["tied_embeddings"], rope_parameters=rope_parameters(p["rope"]), dtype=p["dtype"])
    return OPTConfig(
        vocab_size=p["vocab"], hidden_size=p["hidden"], ffn_dim=p["intermediate"], num_hidden_layers=p["layers"],
        num_attention_heads=p["heads"], max_position_embeddings=p["max_context"], word_embed_proj_dim=p["hidden"],
        do_layer_norm_before=True, activation_function="relu", tie_word_embeddings=p["tied_embeddings"],
        dtype=p["dtype"])


def make_model(profile, weights, dtype):
    config = transformers_config(profile)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="eager").eval()
    assert model.config._attn_implementation == "eager"
    model.tie_weights()
    names = set()
    for name, parameter in model.named_parameters():
        assert parameter.dtype == dtype and parameter.shape == weights[name].shape, name
        parameter.data.copy_(torch.from_numpy(weights[name]))
        names.add(name)
    assert names == set(weights), names ^ set(weights)
    if profile["architecture"] == "llama":  # frequencies stay float32 in every type, as in a checkpoint that is loaded
        model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
        assert model.model.rotary_emb.inv_freq.dtype == torch.float32
    return model


def layout(p):
    """Parameters as workers/model/weight_layout.cpp orders them: name, kind, [(tensor, shape)] to be stacked."""
    llama, hidden = p["architecture"] == "llama", p["hidden"]
    root = "model." if llama else "model.decoder."
    query, kv, wide = p["heads"] * p["head_dim"], p["kv_heads"] * p["head_dim"], p["intermediate"]
    yield "embedding", "table", [(root + "embed_tokens.weight", (p["vocab"], hidden))]
    if not llama:
        yield "positions", "table", [(root + "embed_positions.weight", (p["learned_positions"], hidden))]

    def norm(tensor):
        yield tensor, "norm", [(tensor + ".weight", (hidden,))]
        if not llama:
            yield tensor, "bias", [(tensor + ".bias", (hidden,))]

    def linear(prefix, tensors, rows, cols, biases=not llama):
        yield tensors[0], "matrix", [(f"{prefix}{t}.weight", (n, cols)) for t, n in zip(tensors, rows)]
        if biases:
            yield tensors[0], "bias", [(f"{prefix}{t}.bias", (n,)) for t, n in zip(tensors, rows)]

    for i in range(p["layers"]):
        at = f"{root}layers.{i}."
        yield from norm(at + ("input_layernorm" if llama else "self_attn_layer_norm"))
        yield from linear(at + "self_attn.", ["q_proj", "k_proj", "v_proj"], [query, kv, kv], hidden, not llama or p.get("qkv_biases", False))
        if p.get("qk_norms"):
            for name in ("q_norm", "k_norm"):
                yield name, "norm", [(f"{at}self_attn.{name}.weight", (p["head_dim"],))]
        yield from linear(at + "self_attn.", ["o_proj" if llama else "out_proj"], [hidden], query)
        yield from norm(at + ("post_attention_layernorm" if llama else "final_layer_norm"))
        yield from linear(at, ["mlp.gate_proj", "mlp.up_proj"] if llama else ["fc1"], [wide] * (1 + llama), hidden)
        yield from linear(at, ["mlp.down_proj" if llama else "fc2"], [hidden], wide)
    yield from norm(root + ("norm" if llama else "final_layer_norm"))
    if not p["tied_embeddings"]:
        yield "head", "matrix", [("lm_head.weight", (p["vocab"], hidden))]


def random_amplitude(name, kind, cols, tied):
    """model::random_amplitude()."""
    keeping_order = math.sqrt(3.0 / cols)
    if kind == "bias":
        return 0.1
    if kind == "matrix":
        return (4 if name == "head" else 1) * keeping_order
    return keeping_order if tied else math.sqrt(3.0)


def random_values(seed, parameter, count, amplitude):
    """kernels::random_weight() of elements 0 to count - 1."""
    with np.errstate(over="ignore"):
        start = (seed * 0x9E3779B97F4A7C15 + (parameter << 40)) % 2**64
        z = np.arange(count, dtype=np.uint64) + np.uint64(start)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    odd = 2 * (z >> np.uint64(40)).astype(np.int32) + np.int32(1 - 2**24)
    return odd.astype(np.float32) * (np.float32(amplitude) / np.float32(2**24))


def random_weights(profile, seed):
    """model::random_weights(), as the tensors of a checkpoint."""
    weights = {}
    for index, (name, kind, parts) in enumerate(layout(profile)):
        counts = [int(np.prod(shape)) for _, shape in parts]
        if kind == "norm":
            values = np.ones(sum(counts), np.float32)
        else:
            amplitude = random_amplitude(name, kind, parts[0][1][-1], profile["tied_embeddings"])
            values = random_values(seed, index, sum(counts), amplitude)
        for (tensor, shape), part in zip(parts, np.split(values, np.cumsum(counts)[:-1])):
            weights[tensor] = part.reshape(shape).copy()
    return weights


def checkpoint_weights(profile, seed):
    """Normally distributed, exact in the profile's type; norm weights differ from 1, biases from 0. Embeddings are
    small: a tied head would otherwise repeat the last token."""
    random = np.random.default_rng(seed)
    weights = {}
    for name, kind, parts in layout(profile):
        scale = 0.5 if name == "head" else 0.1 if kind in ("norm", "bias", "table") else 0.125
        for tensor, shape in parts:
            values = (scale * random.standard_normal(shape) + (kind == "norm")).astype(np.float32)
            weights[tensor] = torch.from_numpy(values).to(ROUNDED[profile["dtype"]]).float().numpy()
    return weights


@torch.no_grad()
def logits_of(model, tokens):
    """[tokens][vocab], float32."""
    return model(torch.tensor([tokens]), use_cache=False).logits[0].float().numpy()


class Floats:
    """reference.bin while it grows."""

    def __init__(self):
        self.parts, self.count = [], 0

    def add(self, array):
        """Returns the place of the array."""
        place = self.count
        self.parts.append(np.ascontiguousarray(array, dtype="<f4").ravel())
        self.count += self.parts[-1].size
        return place

    def write(self, path):
        np.concatenate(self.parts).tofile(path)


def relative_l2(got, wanted):
    return float(np.linalg.norm((got - wanted).astype(np.float64)) / np.linalg.norm(wanted.astype(np.float64)))


def greedy_tokens(model, prompt):
    tokens, gaps = list(prompt), []
    for _ in range(GREEDY_TOKENS):
        last = logits_of(model, tokens)[-1]
        second, first = np.sort(last)[-2:]
        gaps.append(first - second)
        tokens.append(int(last.argmax()))
    return tokens[len(prompt):], np.array(gaps)


def prompts_of(vocab):
    random = np.random.default_rng(7)
    return [[int(t) for t in random.integers(0, vocab, length)] for length in PROMPT_LENGTHS]


class Reference:
    """Runs one model in float32 and in the rounded types, and writes what the tests compare with."""

    def __init__(self, profile, weights):
        self.exact = make_model(profile, weights, torch.float32)
        self.rounded = {name: make_model(profile, weights, dtype) for name, dtype in ROUNDED.items()}
        self.vocab = profile["vocab"]
        self.columns = [(2 * i + 1) * self.vocab // 16 for i in range(8)]
        self.floats = Floats()
        self.stored = {name: ([], []) for name in ROUNDED}  # (rounded, exact) values at all stored places

    def errors(self, tokens, exact):
        result = {}
        for name, model in self.rounded.items():
            got = logits_of(model, tokens)
            assert np.isfinite(got).all()
            columns, last = got[:, self.columns], got[-1]
            result[name] = {"columns": relative_l2(columns, exact[:, self.columns]),
                            "last": relative_l2(last, exact[-1]),
                            "max_abs": float(np.abs(got - exact).max()),
                            "same_highest": float((got.argmax(1) == exact.argmax(1)).mean())}
            self.stored[name][0].extend([columns.ravel(), last])
            self.stored[name][1].extend([exact[:, self.columns].ravel(), exact[-1]])
        return result

    def prompt(self, tokens):
        exact = logits_of(self.exact, tokens)
        return {"tokens": tokens, "column_logits": self.floats.add(exact[:, self.columns]),
                "last_logits": self.floats.add(exact[-1]), "max_abs_logit": float(np.abs(exact).max()),
                "errors": self.errors(tokens, exact)}

    def greedy(self, prompt):
        tokens, gaps = greedy_tokens(self.exact, prompt)
        fed = prompt + tokens[:-1]
        exact = logits_of(self.exact, fed)
        assert list(exact[len(prompt) - 1:].argmax(1)) == tokens
        return {"prompt": GREEDY_PROMPT, "tokens": tokens, "gap": self.floats.add(gaps),
                "column_logits": self.floats.add(exact[:, self.columns]),
                "max_abs_logit": float(np.abs(exact).max()), "errors": self.errors(fed, exact)}

    def write(self, folder, weights):
        prompts = [self.prompt(tokens) for tokens in prompts_of(self.vocab)]
        greedy = self.greedy(prompts[GREEDY_PROMPT]["tokens"])
        errors = {name: relative_l2(np.concatenate(got), np.concatenate(exact))
                  for name, (got, exact) in self.stored.items()}
        versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__,
                    "transformers": transformers.__version__}
        reference = {"format": 1, "made_with": versions, "weights": weights, "vocab": self.vocab, "block": BLOCK,
                     "columns": self.columns, "errors": errors, "prompts": prompts, "greedy": greedy}
        (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
        self.floats.write(folder / "reference.bin")
        print(f"{folder.name}: errors {errors}, smallest gap {self.floats_gap(greedy):.3g}, "
              f"distinct tokens {len(set(greedy['tokens']))}, same_highest "
              f"{[e['same_highest'] for e in greedy['errors'].values()]}, max {greedy['max_abs_logit']:.3g}")

    def floats_gap(self, greedy):
        return float(np.concatenate(self.floats.parts)[greedy["gap"]:][:GREEDY_TOKENS].min())


def save_config(profile, folder):
    folder.mkdir(parents=True)
    config = transformers_config(profile)
    config.architectures = [family_of(profile).__name__.removesuffix("Config") + "ForCausalLM"]
    config.save_pretrained(folder)


def write_checkpoint(name, profile, seed, out):
    folder = out / name
    save_config(profile, folder)
    weights = checkpoint_weights(profile, seed)
    model = make_model(profile, weights, ROUNDED[profile["dtype"]])
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    reference = Reference(profile, weights)
    reference.write(folder, {"kind": "safetensors"})
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    tokens = prompts_of(profile["vocab"])[-1]
    assert np.allclose(logits_of(loaded, tokens), logits_of(reference.exact, tokens), atol=1e-4)


def write_random(name, profile, seed, out):
    save_config(profile, out / name)
    weights = random_weights(profile, seed)
    sums = {"sum": float(sum(w.astype(np.float64).sum() for w in weights.values())),
            "sum_abs": float(sum(np.abs(w.astype(np.float64)).sum() for w in weights.values()))}
    Reference(profile, weights).write(out / name, {"kind": "random", "profile": name, "seed": seed} | sums)


def write_rope(profiles, out):
    tables = {}
    for name, profile in profiles.items():
        if profile["architecture"] == "llama":
            table = LlamaRotaryEmbedding(config=transformers_config(profile))
            tables[name] = {"scale": float(table.attention_scaling),
                            "inverse_frequency": [float(f) for f in table.inv_freq]}
    (out / "rope.json").write_text(json.dumps(tables, indent=1) + "\n")


# Rotary frequencies are stretched from 64 tokens on, so that short prompts tell how; attention is wider than hidden.
LLAMA = {"architecture": "llama", "layers": 2, "hidden": 64, "heads": 2, "kv_heads": 1, "head_dim": 64,
         "intermediate": 64, "vocab": 192, "max_context": 512, "tied_embeddings": False, "norm_eps": 1e-5,
         "learned_positions": 0, "dtype": "bfloat16",
         "rope": {"theta": 10000.0, "scaling": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_context": 64}}
CHECKPOINTS = {
    "llama-3": LLAMA,
    "yarn-llama-2": LLAMA | {
        "kv_heads": 2, "dtype": "float16", "max_context": 256,
        "rope": {"theta": 10000.0, "scaling": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
                 "original_max_context": 64}},
    "opt": {"architecture": "opt", "layers": 2, "hidden": 128, "heads": 2, "kv_heads": 2, "head_dim": 64,
            "intermediate": 64, "vocab": 192, "max_context": 96, "learned_positions": 98, "tied_embeddings": True,
            "norm_eps": 1e-5, "dtype": "float16"},
    "qwen2": LLAMA | {"hidden": 128, "tied_embeddings": True, "qkv_biases": True},
    "qwen3": LLAMA | {"kv_heads": 2, "qk_norms": True},
}


def main(repository, out):
    torch.manual_seed(0)  # what make_model() overwrites, but let runs be equal
    out.mkdir(parents=True, exist_ok=True)
    (out / "README.md").write_text(README)
    profiles = {file.stem: tomllib.loads(file.read_text())
                for file in sorted((repository / "sweeps/models").glob("*.toml"))}
    write_rope(profiles, out)
    for seed, (name, profile) in enumerate(CHECKPOINTS.items(), 1):
        write_checkpoint(name, profile, seed, out)
    for name, profile in profiles.items():
        if name.startswith("tiny-"):
            write_random(name, profile, 1, out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
