// One color and dash for each policy, the same on every page and in kvsweep-figures (analysis/python/kvsweep/looks.py).

/** Colors and dashes go round, so that 24 policies differ and neighbors do in both: equal curves show below each other. */
export const POLICIES = [
  "fcfs", "continuum", "cpu_offload", "lmcache", "job_fcfs", "pin", "infercept", "swap",
  "recompute", "continuum_offload", "job_fcfs_offload", "predictive_prefetch", "cache_ttl", "ski_rental", "infercept_swap", "partial",
  "contiguous", "continuum_preview", "swap_pageable", "adaptive",
];
export const COLORS = 8;
export const DASHES = 3;

/** "cpu_offload" of "cpu_offload-16G" and "cpu_offload+ttl_s=2". */
const policyOf = (variant: string): string => /^[^+-]*/.exec(variant)?.[0] ?? variant;

/** A policy that is not known has a place by its name. */
function placeOf(policy: string): number {
  const known = POLICIES.indexOf(policy);
  if (known >= 0) return known;
  return [...policy].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % (COLORS * DASHES), 0);
}

/** The color, by its number, and the dash; variants of one policy share its color. */
export function policyLook(variants: string[], variant: string): { color: number; dash: number } {
  const policy = policyOf(variant), place = placeOf(policy);
  const siblings = [...new Set(variants.filter((each) => policyOf(each) === policy))];
  const among = Math.max(0, siblings.indexOf(variant));
  return { color: place % COLORS, dash: (place + among) % DASHES };
}
