import { Groups, groupsOf, SpanIndex } from "@/viewer/span_index";

/** Numbers that are always the same ones (Park and Miller's generator). */
function numbers(seed: number): () => number {
  return () => (seed = (seed * 48271) % 2147483647) / 2147483647;
}

describe("spans of rows", () => {
  it("are found at every row that they contain, and at no other", () => {
    const random = numbers(7);
    const rows = 500;
    const first = Int32Array.from({ length: 700 }, () => Math.floor(random() * rows));
    const last = first.map((row) => Math.min(rows - 1, row + Math.floor(random() ** 3 * rows)));
    const index = new SpanIndex(first, last);
    const wrong: number[] = [];
    for (let row = 0; row < rows; ++row) {
      const expected = [...first.keys()].filter((span) => first[span]! <= row && row <= last[span]!);
      if (index.at(row).join() !== expected.join()) wrong.push(row);
    }
    expect(wrong).toEqual([]);
  });

  it("of an empty trace are none", () => {
    expect(new SpanIndex(new Int32Array(), new Int32Array()).at(0)).toEqual([]);
  });
});

describe("groups", () => {
  it("keep the order of their rows and leave out rows without a group", () => {
    const groups = new Groups(groupsOf(Int32Array.of(1, -1, 0, 1), 2));
    expect([[...groups.of(0)], [...groups.of(1)]]).toEqual([[2], [0, 3]]);
  });
});
