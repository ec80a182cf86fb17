"""One color and dash for each policy, the same as on the pages of kvsweep (analysis/web/src/shared/policy_looks.ts)."""
import re

# Okabe and Ito's colors, which color-blind readers can distinguish.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#b4468f", "#6a5acd", "#2b8fcc", "#b07a00", "#6b7280"]
# Of states of blocks and shares of time, as on the pages: no policy's colors.
SHARES = ["#332288", "#b5455a", "#2a8a7b", "#8f3580", "#9a7d20", "#3a86b4", "#117733", "#858b95"]
_SHARE_OF = {
    "vram": 3, "dram": 6, "allocated": 1, "pinned": 4, "cached": 3, "queue": 2, "load": 4, "again": 5, "fresh": 8, "prefill": 1, "decode": 7,
    "other": 8, "to_device": 1, "to_host": 4, "stall": 2,
}
MEANINGS = {name: SHARES[share - 1] for name, share in _SHARE_OF.items()} | {"free": "#828e9d", "tool": "#828e9d"}
DASHES = ["-", (0, (6, 2.5)), (0, (1.5, 1.5))]
POLICIES = [
    "fcfs", "continuum", "cpu_offload", "lmcache", "job_fcfs", "pin", "infercept", "swap",
    "recompute", "continuum_offload", "job_fcfs_offload", "predictive_prefetch", "cache_ttl", "ski_rental", "infercept_swap", "partial",
    "contiguous", "continuum_preview", "swap_pageable", "adaptive",
]


def policy_of(variant):
    """"cpu_offload" of "cpu_offload-16G" and "cpu_offload (ttl_s=2)"."""
    return re.match(r"[^+\- (]*", variant)[0]


def place_of(policy):
    if policy in POLICIES:
        return POLICIES.index(policy)
    place = 0
    for letter in policy:
        place = (place * 31 + ord(letter)) % (len(COLORS) * len(DASHES))
    return place


def policy_look(variants, variant):
    """The numbers of the color and the dash; variants of one policy share its color."""
    policy = policy_of(variant)
    place = place_of(policy)
    siblings = [each for each in variants if policy_of(each) == policy]
    return place % len(COLORS), (place + siblings.index(variant)) % len(DASHES)
