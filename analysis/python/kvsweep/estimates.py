"""Numbers over repeats and which policy is best: the rules of `kvsweep table` and `kvsweep report` (analysis/compare/estimate.hpp, decision.hpp).

Values are Series by seed. Intervals are 95 %, Student's t, unadjusted, and NaN below three repeats.
"""
import dataclasses
import math

import numpy as np

FEWEST = 3  # repeats of an interval
EQUAL = 0.01  # smaller relative differences are ties
SIGNIFICANCE = 0.05
HIGHER = {"prefix_hit_rate", "host_hit_rate", "gpu_hit_tok", "host_hit_tok", "tier_benefit_s", "output_tok_per_s", "total_tok_s",
          "prefill_tok_s", "decode_tok_s"}
NEITHER = {"jobs", "turns", "steps", "forwards", "computed_tok", "running_peak", "kv_used_pct", "gpu_blocks", "peak_device_mem"}


def tails(t, freedom):
    """The probability that Student's t with so many degrees of freedom is beyond -|t| or |t|: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    inside = math.sin(angle) * total
    return max(0.0, 1 - ((angle + inside) * 2 / math.pi if odd else inside))


def quantile(freedom):
    """The t with tails of 5 % together."""
    low, high = 0.0, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tails(middle, freedom) > 0.05 else (low, middle)
    return high


def mean_interval(values):
    """Of the mean over the seeds."""
    values = np.asarray(values, float)
    if len(values) < FEWEST:
        return math.nan, math.nan
    half = quantile(len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return values.mean() - half, values.mean() + half


@dataclasses.dataclass
class Ratio:
    """Over a base: the estimate, its interval, the two-sided p-value of no difference, and the sign of the difference."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    repeats: int = 0
    sign: int = 0


def ratio_of(value, base):
    """The geometric mean over equal seeds. If a value is not positive, the ratio of the means: 1 if both are 0."""
    seeds = base.index.intersection(value.index)
    paired = len(seeds) > 0
    a, b = (value[seeds], base[seeds]) if paired else (value, base)
    a, b = a.to_numpy(float), b.to_numpy(float)
    ratio = Ratio(repeats=min(len(a), len(b)))
    if ratio.repeats == 0:
        return ratio
    if (a > 0).all() and (b > 0).all():
        log, error = _log_ratio(a, b, paired)
        ratio.value, ratio.sign = math.exp(log), int(np.sign(log))
        if ratio.repeats >= FEWEST:
            half = quantile(ratio.repeats - 1) * error
            ratio.low, ratio.high, ratio.p = math.exp(log - half), math.exp(log + half), _p(log, error, ratio.repeats - 1)
        return ratio
    over, under = a.mean(), b.mean()
    ratio.value = 1.0 if over == under else over / under if under else math.copysign(math.inf, over)
    ratio.sign = int(np.sign(over - under))
    if ratio.repeats >= FEWEST and paired:
        ratio.p = _p(over - under, _error(a - b), ratio.repeats - 1)
        if under != 0:
            half = quantile(ratio.repeats - 1) * _error(a - ratio.value * b) / abs(under)
            ratio.low, ratio.high = ratio.value - half, ratio.value + half
    return ratio


def _p(estimate, error, freedom):
    return tails(estimate / error, freedom) if error > 0 else float(estimate == 0)


def _error(values):
    return values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _log_ratio(a, b, paired):
    if paired:
        logs = np.log(a / b)
        return logs.mean(), _error(logs)
    return np.log(a).mean() - np.log(b).mean(), math.hypot(_error(np.log(a)), _error(np.log(b)))


@dataclasses.dataclass
class Decision:
    """The best of some policies; those less than 1 % from it; those that the repeats do not tell from it; those behind, with the nearest
    first, and the ratio of each of the others to the best."""

    best: str
    tied: list
    undecided: list
    behind: list
    over_best: dict

    @property
    def next(self):
        return self.behind[0] if self.behind else None


def _is_worse(ratio, metric):
    return ratio.sign < 0 if metric in HIGHER else ratio.sign > 0


def _standing(ratio, metric):
    if abs(ratio.value - 1) < EQUAL:
        return "tied"
    if ratio.repeats < FEWEST or ratio.p <= SIGNIFICANCE and _is_worse(ratio, metric):
        return "behind"
    return "undecided"


def decide(values, metric):
    """`values`: by policy. Holm's rule adjusts the p-values of the others against the best. None without values, and for a figure that
    is better neither way."""
    names = [name for name in values if len(values[name])]
    if not names or metric in NEITHER:
        return None
    best = names[0]
    for name in names[1:]:
        if _is_worse(ratio_of(values[best], values[name]), metric):
            best = name
    sign = -1 if metric in HIGHER else 1
    ratios = sorted(((name, ratio_of(values[name], values[best])) for name in names if name != best), key=lambda pair: sign * pair[1].value)
    known = sorted((ratio for _, ratio in ratios if not math.isnan(ratio.p)), key=lambda ratio: ratio.p)
    largest = 0.0
    for at, ratio in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - at) * ratio.p))
        ratio.p = largest
    groups = {"tied": [], "undecided": [], "behind": []}
    for name, ratio in ratios:
        groups[_standing(ratio, metric)].append(name)
    return Decision(best, **groups, over_best=dict(ratios))
