import type { Numbers } from "@/shared/columns";

const BUCKET = 64; // steps

/** Finds the spans [first, last] of rows that contain a row, in time that does not grow with the trace. */
export class SpanIndex {
  private readonly offsets: Int32Array;
  private readonly spans: Int32Array;

  constructor(
    private readonly first: Numbers,
    private readonly last: Numbers,
    rows: number,
  ) {
    const buckets = Math.ceil(rows / BUCKET) + 1;
    this.offsets = new Int32Array(buckets + 1);
    this.visit((_, bucket) => this.offsets[bucket + 1]!++);
    for (let i = 0; i < buckets; ++i) this.offsets[i + 1]! += this.offsets[i]!;
    this.spans = new Int32Array(this.offsets[buckets]!);
    const next = this.offsets.slice();
    this.visit((span, bucket) => (this.spans[next[bucket]!++] = span));
  }

  private visit(each: (span: number, bucket: number) => void): void {
    for (let span = 0; span < this.first.length; ++span) {
      const to = Math.floor((this.last[span] as number) / BUCKET);
      for (let bucket = Math.floor((this.first[span] as number) / BUCKET); bucket <= to; ++bucket) each(span, bucket);
    }
  }

  /** The spans that contain the row, in their own order. */
  at(row: number): number[] {
    const bucket = Math.floor(row / BUCKET);
    const found: number[] = [];
    for (let i = this.offsets[bucket] ?? 0; i < (this.offsets[bucket + 1] ?? 0); ++i) {
      const span = this.spans[i]!;
      if ((this.first[span] as number) <= row && row <= (this.last[span] as number)) found.push(span);
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
    for (const group of of) if (group >= 0 && group < groups) this.offsets[group + 1]!++;
    for (let i = 0; i < groups; ++i) this.offsets[i + 1]! += this.offsets[i]!;
    this.rows = new Int32Array(this.offsets[groups]!);
    const next = this.offsets.slice();
    of.forEach((group, row) => {
      if (group >= 0 && group < groups) this.rows[next[group]!++] = row;
    });
  }

  of(group: number): Int32Array {
    return this.rows.subarray(this.offsets[group] ?? 0, this.offsets[group + 1] ?? 0);
  }
}
