import type { Numbers } from "@/shared/columns";

const BUCKET = 64; // steps

/** Finds the spans [first, last] of rows that contain a row, in time that does not grow with the trace. */
export class SpanIndex {
  private readonly offsets: Int32Array;
  private readonly spans: Int32Array;
  private readonly first: Int32Array;
  private readonly last: Int32Array;

  constructor(first: Numbers, last: Numbers, rows: number) {
    [this.first, this.last] = [new Int32Array(first), new Int32Array(last)];
    const buckets = Math.ceil(rows / BUCKET) + 1;
    this.offsets = new Int32Array(buckets + 1);
    for (let span = 0; span < this.first.length; ++span) {
      for (let bucket = this.from(span); bucket <= this.to(span); ++bucket) this.offsets[bucket + 1]!++;
    }
    for (let i = 0; i < buckets; ++i) this.offsets[i + 1]! += this.offsets[i]!;
    this.spans = new Int32Array(this.offsets[buckets]!);
    const next = this.offsets.slice();
    for (let span = 0; span < this.first.length; ++span) {
      for (let bucket = this.from(span); bucket <= this.to(span); ++bucket) this.spans[next[bucket]!++] = span;
    }
  }

  private from(span: number): number {
    return Math.floor(this.first[span]! / BUCKET);
  }

  private to(span: number): number {
    return Math.floor(this.last[span]! / BUCKET);
  }

  /** The spans that contain the row, in their own order. */
  at(row: number): number[] {
    const bucket = Math.floor(row / BUCKET);
    const found: number[] = [];
    for (let i = this.offsets[bucket] ?? 0; i < (this.offsets[bucket + 1] ?? 0); ++i) {
      const span = this.spans[i]!;
      if (this.first[span]! <= row && row <= this.last[span]!) found.push(span);
    }
    return found;
  }
}

/** Rows by group: those of group g are rows[offsets[g]] to rows[offsets[g + 1] - 1], in their own order. */
export class Groups {
  private readonly offsets: Int32Array;
  private readonly rows: Int32Array;

  /** Rows whose group is not in 0..groups-1 belong to none. */
  constructor(of: Numbers, groups: number) {
    this.offsets = new Int32Array(groups + 1);
    const own = new Int32Array(of);
    for (let row = 0; row < own.length; ++row) if (own[row]! >= 0 && own[row]! < groups) this.offsets[own[row]! + 1]!++;
    for (let i = 0; i < groups; ++i) this.offsets[i + 1]! += this.offsets[i]!;
    this.rows = new Int32Array(this.offsets[groups]!);
    const next = this.offsets.slice();
    for (let row = 0; row < own.length; ++row) {
      const group = own[row]!;
      if (group >= 0 && group < groups) this.rows[next[group]!++] = row;
    }
  }

  of(group: number): Int32Array {
    return this.rows.subarray(this.offsets[group] ?? 0, this.offsets[group + 1] ?? 0);
  }
}
