import { toCsv } from "@/shared/csv";

describe("a table as CSV", () => {
  it("doubles quotes and quotes what would split a field", () => {
    expect(toCsv([{ name: "a,b", values: ['say "hi"', "two\nlines"] }])).toBe('"a,b"\r\n"say ""hi"""\r\n"two\nlines"\r\n');
  });

  it("has no digits that only sums of binary fractions leave, and all of a number that is whole", () => {
    expect(toCsv([{ name: "x", values: [0.1 + 0.2, 1 / 3, 1e-7 / 3, 9007199254740991, -1.5] }]))
      .toBe("x\r\n0.3\r\n0.333333333333\r\n3.33333333333e-8\r\n9007199254740991\r\n-1.5\r\n");
  });

  it("makes a text of what a spreadsheet would take for a formula", () => {
    expect(toCsv([{ name: "=a", values: ["=1+1", "@x", "a-b", -2] }])).toBe("'=a\r\n'=1+1\r\n'@x\r\na-b\r\n-2\r\n");
  });

  it("leaves what was not observed empty, and pads short columns", () => {
    const table = toCsv([
      { name: "x", values: [1, NaN, null] },
      { name: "y", values: Float64Array.of(0.5) },
    ]);
    expect(table).toBe("x,y\r\n1,0.5\r\n,\r\n,\r\n");
  });
});
