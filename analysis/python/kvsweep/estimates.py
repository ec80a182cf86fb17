"""Numbers over repeats and who is best: the rules of `kvsweep table` and `kvsweep report` (analysis/compare/estimate.hpp, decision.hpp).

Values are Series by seed. Intervals are 95 %, Student's t, unadjusted, and NaN below three repeats.
"""
import dataclasses
import math

import numpy as np

FEWEST = 3  # repeats of an interval
EQUAL = 0.01  # smaller relative differences are ties
HIGHER = {"prefix_hit_rate", "host_hit_rate", "gpu_hit_tok", "host_hit_tok", "tier_benefit_s", "output_tok_per_s", "total_tok_s",
          "prefill_tok_s", "decode_tok_s"}


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
    """Over a base: the estimate, its interval, and the two-sided p-value of a ratio of 1."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    repeats: int = 0


def ratio_of(value, base):
    """The geometric mean over equal seeds. If a value is not positive, the ratio of the means."""
    seeds = base.index.intersection(value.index)
    paired = len(seeds) > 0
    a, b = (value[seeds], base[seeds]) if paired else (value, base)
    a, b = a.to_numpy(float), b.to_numpy(float)
    ratio = Ratio(repeats=min(len(a), len(b)))
    if ratio.repeats == 0:
        return ratio
    logarithmic = bool((a > 0).all() and (b > 0).all())
    if logarithmic:
        center, error = _log_ratio(a, b, paired)
    elif b.mean() == 0:
        return ratio
    else:
        center = a.mean() / b.mean()
        error = _error(a - center * b) / abs(b.mean()) if paired else math.nan
    back = math.exp if logarithmic else float
    ratio.value = back(center)
    if ratio.repeats >= FEWEST and not math.isnan(error):
        freedom = ratio.repeats - 1
        half = quantile(freedom) * error
        ratio.low, ratio.high = back(center - half), back(center + half)
        away = abs(center - (0 if logarithmic else 1))
        ratio.p = tails(away / error, freedom) if error > 0 else float(away == 0)
    return ratio


def _error(values):
    return values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _log_ratio(a, b, paired):
    if paired:
        logs = np.log(a / b)
        return logs.mean(), _error(logs)
    return np.log(a).mean() - np.log(b).mean(), math.hypot(_error(np.log(a)), _error(np.log(b)))


@dataclasses.dataclass
class Decision:
    """The best of some policies, those that tie with it, and the best of the others with its ratio to the best."""

    best: str
    tied: list
    next: str | None
    next_over_best: Ratio


def decide(values, metric):
    """`values`: by policy. Holm's rule adjusts the p-values of the others against the best."""
    sign = -1 if metric in HIGHER else 1
    order = sorted((name for name in values if len(values[name])), key=lambda name: sign * values[name].mean())
    if not order:
        return None
    ratios = {name: ratio_of(values[name], values[order[0]]) for name in order[1:]}
    known = sorted((ratio for ratio in ratios.values() if not math.isnan(ratio.p)), key=lambda ratio: ratio.p)
    largest = 0.0
    for at, ratio in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - at) * ratio.p))
        ratio.p = largest
    tied = [name for name, ratio in ratios.items() if abs(ratio.value - 1) < EQUAL or ratio.p > 0.05]
    behind = [name for name in ratios if name not in tied]
    first = behind[0] if behind else None
    return Decision(order[0], tied, first, ratios.get(first, Ratio()))
