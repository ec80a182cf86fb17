// What `kvsweep report` puts in the page: analysis/report/json.cpp writes it. null is "not observed".
import type { Table } from "./tables";
import type { Chart, Interval, Maybe } from "@/charts/chart";

export type { Interval, Maybe };

export interface Archive {
  name: string; sweep: string; question: string; spec: string; created: string; tool: string;
  cells: number; ok: number;
  runs: [string, string][][];
}

export interface Figure {
  unit: string;
  mean: Maybe; interval: Interval; ratio: Maybe; ratio_interval: Interval; published: Maybe;
  /** "best", "tie", "best with 16 GiB"; empty if it is behind everywhere. */
  standing: string;
}

export interface Group {
  jps: string;
  variant: string;
  repeats: number;
  dram: string;
  /** Of its first cell. */
  label: string;
  /** Where its numbers come from: "cells 3 and 15 of a.h5". */
  from: string;
  /** "p99: TTFT 24.6 s, first token 1.14 s, JCT 83.4 s", and what of it is worse than fcfs's by far. */
  p99: string;
  worse: string;
  figures: Record<string, Figure>;
}

export interface Panel {
  kind: string; gpu: string;
  /** The card, and what else tells the panel from the others. */
  name: string;
  settings: string; devices: string; rates: string[]; variants: string[];
  groups: Group[];
  /** What the policies did, at each rate. */
  acts: Table[];
  charts: Chart[];
  sources: string[];
  remarks: string[];
}

export interface Regime {
  kind: string; settings: string; gpu: string; dram: string; jps: string;
  winner: string;
  /** Policies less than 1 % from the winner, nearest first; those that the repeats do not tell from it; the best of the others. */
  tied: string[]; undecided: string[]; next: string[];
  /** Of the winner and those that tie, as of groups. */
  p99: string; worse: string;
  value: Maybe; margin: Maybe; margin_interval: Interval;
  repeats: number;
}

/** A sentence about a card, its settings and an amount of host memory. */
export interface AnswerLine {
  place: string;
  says: string;
}

export interface Report {
  format: "kvsweep-report";
  version: number;
  program: string;
  archives: Archive[];
  /** Which policy is best where, in sentences, and by which figure. */
  answer: AnswerLine[];
  answer_heading: string;
  /** Pools of cards and cost models that the sweep changed. */
  panels: Panel[];
  regimes: Regime[];
  tables: Table[];
  claim_sources: string[];
  /** Some cell that is not excluded has no result. */
  lacks: boolean;
  /** How many cells have a result, and which have none. */
  coverage: string;
  studies: Chart[];
  accesses: Chart[];
  /** Why some cells with an access log have no chart. */
  accesses_left_out: string[];
}

export const ALL = "all";

export function groupOf(panel: Panel, jps: string, variant: string): Group | undefined {
  return panel.groups.find((group) => group.jps === jps && group.variant === variant);
}

export function panelName(panel: Panel): string {
  return panel.gpu + (panel.settings === "" ? "" : `, ${panel.settings}`);
}

/** The device of the numbers as verified by the workers, or a note that the card is only a name. */
export function deviceOf(panel: Panel): string {
  if (panel.devices !== "" || !panel.kind.startsWith("MEASURED (cpu")) return panel.devices;
  return `the host's processor; ${panel.gpu} is only a label`;
}

export const isMeasured = (kind: string): boolean => kind.startsWith("MEASURED");

/** "1 repeat", "3 repeats". */
export const repeatsText = (repeats: number): string =>
  `${repeats} repeat${repeats === 1 ? "" : "s"}`;

type Asked = Pick<Archive, "sweep" | "question">;

/** Names of sweeps, each once even if it has several archives. */
export const sweepsOf = (archives: Pick<Archive, "sweep">[]): string[] =>
  [...new Set(archives.map((archive) => archive.sweep))];

/** The questions of sweeps, each once; a sweep without a question has its name. */
export const questionsOf = (archives: Asked[]): string[] =>
  [...new Set(archives.map(({ question, sweep }) => question || `Sweep ${sweep}.`))];

export function rateText(jps: string): string {
  if (jps === ALL) return "all rates together";
  return jps === "-" ? "no arrival rate" : `${jps} ${jps === "1" ? "job" : "jobs"}/s`;
}

/** Sizes of host memory that a panel has, smallest first. */
export function dramSizes(panel: Panel): string[] {
  const sizes = new Set(panel.groups.map((group) => group.dram));
  sizes.delete("-");
  return [...sizes].sort((a, b) => Number(a) - Number(b));
}
