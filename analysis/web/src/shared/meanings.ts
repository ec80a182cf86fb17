import { cssVar } from "./theme";

/**
 * Colors that mean the same in every chart of all pages, as variables of the theme: of memories,
 * of the states of KV blocks, and of what a job waits for.
 */
export const MEANING = {
  vram: "--share-3", dram: "--share-6",
  allocated: "--share-1", pinned: "--share-4", cached: "--share-3", free: "--edge",
  queue: "--share-2", load: "--share-4", again: "--share-5", fresh: "--share-8",
  prefill: "--share-1", decode: "--share-7", tool: "--edge", other: "--share-8",
  to_device: "--share-1", to_host: "--share-4", stall: "--share-2",
} as const;

export type Meaning = keyof typeof MEANING;

/** Their values in the current theme. */
export function meanings(): Record<Meaning, string> {
  const found = Object.entries(MEANING).map(([name, variable]) => [name, cssVar(variable)]);
  return Object.fromEntries(found) as Record<Meaning, string>;
}

/** Names of block states on all pages, in stacking order. */
export const BLOCK_STATES = ["allocated", "pinned", "cached", "free"] as const;
