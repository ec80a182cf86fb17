import type { Numbers } from "@/shared/columns";
import type { Turns } from "./model";

/** A turn of a job, and how many agents its own agent is below the root. */
export interface Placed {
  row: number; // of Turns
  depth: number;
}

/** The turns of each agent of a job in their order; the root first, the others by their first arrival. */
function byAgent(turns: Turns, rows: Iterable<number>): Map<number, number[]> {
  const agents = new Map<number, number[]>();
  for (const row of [...rows].sort((a, b) => (turns.turn[a] as number) - (turns.turn[b] as number))) {
    const agent = turns.agent[row] as number;
    agents.set(agent, [...(agents.get(agent) ?? []), row]);
  }
  const first = ([agent, own]: [number, number[]]) => (agent === 0 ? -Infinity : (turns.arrive[own[0] as number] as number));
  return new Map([...agents].sort((a, b) => first(a) - first(b) || a[0] - b[0]));
}

const parentOf = (turns: Turns, own: number[]) => turns.parent[own[0] as number] as number;

/** The turn of the parent that spawned an agent: its last one that ended before the agent's first turn arrived. */
function spawner(turns: Turns, parent: number[], own: number[]): number | undefined {
  const start = turns.arrive[own[0] as number] as number;
  const before = (column: Numbers) => parent.filter((row) => (column[row] as number) <= start).at(-1);
  return before(turns.finish) ?? before(turns.arrive);
}

/** A job's turns from top to bottom: those of a subagent are below the turn that spawned it. */
export function underParents(turns: Turns, rows: Iterable<number>): Placed[] {
  const agents = byAgent(turns, rows);
  const spawned = new Map<number, number[][]>(); // by row of the turn
  const tops: number[][] = []; // agents without a turn that spawned them: the root
  for (const [agent, own] of agents) {
    const parent = agent === 0 ? undefined : agents.get(parentOf(turns, own));
    const by = parent === undefined || parent === own ? undefined : spawner(turns, parent, own);
    if (by === undefined) tops.push(own);
    else spawned.set(by, [...(spawned.get(by) ?? []), own]);
  }
  const placed: Placed[] = [];
  const left = new Set(agents.values());
  const place = (own: number[], depth: number): void => {
    if (!left.delete(own)) return;
    for (const row of own) {
      placed.push({ row, depth });
      for (const child of spawned.get(row) ?? []) place(child, depth + 1);
    }
  };
  for (const own of [...tops, ...left]) place(own, turns.agent[own[0] as number] === 0 ? 0 : 1);
  return placed;
}

/** The same turns as lanes over time: the root's first, below it as many as there are subagents at a time. */
export function lanesOf(turns: Turns, rows: Iterable<number>): number[][] {
  const lanes: number[][] = [];
  const ends: number[] = [];
  const laneOf = new Map<number, number>(); // by agent
  for (const [agent, own] of byAgent(turns, rows)) {
    const start = turns.arrive[own[0] as number] as number;
    let lane = agent === 0 ? 0 : (laneOf.get(parentOf(turns, own)) ?? 0) + 1;
    while ((ends[lane] ?? -Infinity) > start) ++lane;
    laneOf.set(agent, lane);
    ends[lane] = turns.finish[own.at(-1) as number] as number;
    (lanes[lane] ??= []).push(...own);
  }
  return Array.from(lanes, (lane) => lane ?? []);
}
