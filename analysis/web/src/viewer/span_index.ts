import type { Numbers } from "@/shared/columns";

const BLOCK_BITS = 8; // 256 spans to a block

/**
 * Finds the spans [first, last] of rows that contain a row. Spans are mostly in order of their first rows, so only
 * few blocks of spans need a search. The index holds only the range that each block covers.
 */
export class SpanIndex {
  private readonly first: Int32Array;
  private readonly last: Int32Array;
  private readonly lowest: Int32Array; // of each block
  private readonly highest: Int32Array;

  constructor(first: Numbers, last: Numbers) {
    [this.first, this.last] = [int32(first), int32(last)];
    const blocks = (first.length >> BLOCK_BITS) + 1;
    [this.lowest, this.highest] = [new Int32Array(blocks).fill(2 ** 31 - 1), new Int32Array(blocks).fill(-1)];
    cover(this.first, this.last, this.lowest, this.highest);
  }

  /** The spans that contain the row, in their own order. */
  at(row: number): number[] {
    const { first, last, lowest, highest } = this;
    const found: number[] = [];
    for (let block = 0; block < lowest.length; ++block) {
      if (lowest[block]! > row || highest[block]! < row) continue;
      const end = Math.min(first.length, (block + 1) << BLOCK_BITS);
      for (let span = block << BLOCK_BITS; span < end; ++span) {
        if (first[span]! <= row && row <= last[span]!) found.push(span);
      }
    }
    return found;
  }
}

function cover(first: Int32Array, last: Int32Array, lowest: Int32Array, highest: Int32Array): void {
  for (let span = 0; span < first.length; ++span) {
    const block = span >> BLOCK_BITS;
    if (first[span]! < lowest[block]!) lowest[block] = first[span]!;
    if (last[span]! > highest[block]!) highest[block] = last[span]!;
  }
}

/** Rows by group: those of group g are rows[offsets[g]] to rows[offsets[g + 1] - 1], in their own order. */
export interface GroupData {
  offsets: Int32Array;
  rows: Int32Array;
}

/** Rows with a group outside 0..groups-1 belong to none. */
export function groupsOf(of: Numbers, groups: number): GroupData {
  const offsets = new Int32Array(groups + 1);
  const own = int32(of);
  for (let row = 0; row < own.length; ++row) if (own[row]! >= 0 && own[row]! < groups) offsets[own[row]! + 1]!++;
  for (let i = 0; i < groups; ++i) offsets[i + 1]! += offsets[i]!;
  const rows = new Int32Array(offsets[groups]!);
  const next = offsets.slice();
  for (let row = 0; row < own.length; ++row) {
    const group = own[row]!;
    if (group >= 0 && group < groups) rows[next[group]!++] = row;
  }
  return { offsets, rows };
}

export class Groups {
  constructor(private readonly data: GroupData) {}

  of(group: number): Int32Array {
    return this.data.rows.subarray(this.data.offsets[group] ?? 0, this.data.offsets[group + 1] ?? 0);
  }
}

function int32(values: Numbers): Int32Array {
  return values instanceof Int32Array ? values : new Int32Array(values);
}
