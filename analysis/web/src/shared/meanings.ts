import { cssVar } from "./theme";

/**
 * Colours that mean the same in every chart of all pages, as variables of the theme: of memories,
 * of the states of KV blocks, and of what a job waits for.
 */
export const MEANING = {
  vram: "--series-3", dram: "--series-6",
  allocated: "--series-1", pinned: "--series-4", cached: "--series-3", free: "--edge",
  queue: "--series-2", load: "--series-4", again: "--series-5", fresh: "--series-8",
  prefill: "--series-1", decode: "--series-7", tool: "--edge", other: "--series-8",
  to_device: "--series-1", to_host: "--series-4", stall: "--series-2",
} as const;

export type Meaning = keyof typeof MEANING;

/** Their values in the current theme. */
export function meanings(): Record<Meaning, string> {
  const found = Object.entries(MEANING).map(([name, variable]) => [name, cssVar(variable)]);
  return Object.fromEntries(found) as Record<Meaning, string>;
}

/** Names of block states on all pages, in stacking order. */
export const BLOCK_STATES = ["allocated", "pinned", "cached", "free"] as const;
