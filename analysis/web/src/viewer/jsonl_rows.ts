import { STAY, type Stays, type Table } from "./model";

/** Columns that grow, row by row. */
export class Rows<Name extends string> {
  private readonly columns: Record<Name, number[]>;
  n = 0;

  constructor(private readonly names: readonly Name[]) {
    this.columns = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  }

  add(row: Record<Name, number>): number {
    for (const name of this.names) this.columns[name].push(row[name]);
    return this.n++;
  }

  set(row: number, name: Name, value: number): void {
    this.columns[name][row] = value;
  }

  get(row: number, name: Name): number {
    return this.columns[name][row] as number;
  }

  table(): Table<Name> {
    const columns = this.names.map((name) => [name, Float64Array.from(this.columns[name])]);
    return { n: this.n, ...Object.fromEntries(columns) } as Table<Name>;
  }
}

/** A row with all values unknown. */
export function empty<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, NaN])) as Record<Name, number>;
}

/** Names by their codes. */
export class Names {
  readonly all: string[];

  constructor(...first: string[]) {
    this.all = first;
  }

  code(name: string): number {
    const known = this.all.indexOf(name);
    return known >= 0 ? known : this.all.push(name) - 1;
  }
}

/** Stays of requests, from lists that are complete in every step. */
export class Presence {
  private readonly open = new Map<number, number>(); // request -> row of its stay
  private readonly rows = new Rows(STAY);

  note(step: number, running: Set<number>, waiting: Iterable<number>): void {
    const there = new Map<number, number>();
    for (const turn of waiting) if (!running.has(turn)) there.set(turn, 0);
    for (const turn of running) there.set(turn, 1);
    for (const [turn, stay] of this.open) {
      if (there.get(turn) !== this.rows.get(stay, "running")) this.open.delete(turn);
    }
    for (const [turn, runs] of there) {
      const stay = this.open.get(turn);
      if (stay !== undefined) this.rows.set(stay, "last", step);
      else this.open.set(turn, this.rows.add({ turn, running: runs, first: step, last: step }));
    }
  }

  stays(): Stays {
    return this.rows.table();
  }
}
