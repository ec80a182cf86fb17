import { bytesOfBase64, type Numbers } from "@/shared/columns";
import { inflated, unpackInts, type PackedInts, type Whole } from "./packed_ints";

/** A column as written by analysis/trace/columns.hpp. */
export type PageColumn =
  | string[]
  | { texts: string[]; codes: PackedInts }
  | { from: number; rows: number }
  | { same: number | null; rows: number }
  | { type: "f64"; deflated?: string; data?: string }
  | IntsColumn;

interface IntsColumn {
  ints: PackedInts;
  rows: number;
  scale?: number;
  none?: number; // stands for NaN
  sum?: Record<string, number>; // columns with factors; their weighted sum is added
  within?: string; // adds the value of the last row with the same number in this column
}

export interface PageTable {
  rows: number;
  columns: Record<string, PageColumn>;
  names?: Record<string, string[]>;
}

/** A table of a page. Columns are unpacked once; columns that follow from others are computed on demand. */
export class TableReader {
  private readonly wholes = new Map<string, Whole>();

  private constructor(
    private readonly table: PageTable,
    private readonly parts: Map<string, Whole>,
  ) {}

  static async open(table: PageTable): Promise<TableReader> {
    const parts = new Map<string, Whole>();
    const read = Object.entries(table.columns).map(async ([name, column]) => {
      const values = await partOf(column, table.rows);
      if (values !== null) parts.set(name, values);
    });
    await Promise.all(read);
    return new TableReader(table, parts);
  }

  get rows(): number {
    return this.table.rows;
  }

  /** Adds a column that the page lacks and that others follow from. */
  give(name: string, values: Whole): void {
    this.wholes.set(name, values);
  }

  has(name: string): boolean {
    return this.parts.has(name);
  }

  /** A column's values as multiples of its scale. */
  whole(name: string, scale = this.scaleOf(name)): Whole {
    const known = this.wholes.get(name);
    if (known !== undefined) return known;
    const part = this.parts.get(name);
    if (part === undefined) throw new TypeError(`the page has no column ${name}`);
    const column = this.table.columns[name] as PageColumn;
    const made = "ints" in column ? this.related(column, part) : part.map((value) => Math.round(value / scale));
    this.wholes.set(name, made);
    return made;
  }

  private scaleOf(name: string): number {
    const column = this.table.columns[name];
    return column !== undefined && "scale" in column ? (column.scale ?? 1) : 1;
  }

  private related(column: IntsColumn, part: Whole): Whole {
    if (column.within !== undefined) return within(part, this.whole(column.within));
    if (column.sum === undefined) return part;
    const sum = new Float64Array(part);
    for (const [name, factor] of Object.entries(column.sum)) {
      const term = this.whole(name, column.scale);
      for (let i = 0; i < sum.length; ++i) sum[i]! += term[i]! * factor;
    }
    return sum;
  }

  maybe(name: string): Numbers | null {
    const column = this.table.columns[name];
    if (column === undefined || !this.parts.has(name)) return null;
    if (!("ints" in column)) return this.parts.get(name) ?? null;
    const values = this.whole(name);
    const { scale = 1, none } = column;
    if (scale === 1 && none === undefined) return values;
    const scaled = new Float64Array(values.length);
    for (let i = 0; i < scaled.length; ++i) scaled[i] = values[i]! * scale;
    if (none !== undefined) for (let i = 0; i < scaled.length; ++i) if (values[i] === none) scaled[i] = NaN;
    return scaled;
  }

  numbers(name: string): Numbers {
    return this.maybe(name) ?? new Float64Array(this.rows).fill(NaN);
  }

  texts(name: string): string[] {
    const column = this.table.columns[name];
    if (Array.isArray(column)) return column;
    if (column === undefined || !("texts" in column)) return Array<string>(this.rows).fill("");
    return Array.from(this.parts.get(name) as Whole, (code) => column.texts[code] ?? "");
  }

  names(name: string): string[] {
    return this.table.names?.[name] ?? [];
  }
}

/** The stored part of a column; null for texts. */
async function partOf(column: PageColumn, rows: number): Promise<Whole | null> {
  if (Array.isArray(column)) return null;
  if ("texts" in column) return unpackInts(column.codes, rows);
  if ("ints" in column) return unpackInts(column.ints, rows);
  if ("from" in column) return Int32Array.from({ length: rows }, (_, row) => column.from + row);
  if ("same" in column) return new Float64Array(rows).fill(column.same ?? NaN);
  const bytes = bytesOfBase64(column.deflated ?? column.data ?? "");
  return new Float64Array((column.deflated === undefined ? bytes : await inflated(bytes, 8 * rows)).buffer);
}

/** Groups are numbered from -1. */
function within(part: Whole, groups: Whole): Whole {
  let most = -1;
  for (let i = 0; i < groups.length; ++i) if (groups[i]! > most) most = groups[i]!;
  const before = new Int32Array(most + 2);
  const made = new Int32Array(part.length);
  for (let i = 0; i < part.length; ++i) {
    const group = groups[i]! + 1;
    made[i] = before[group] = before[group]! + part[i]!;
  }
  return made;
}
