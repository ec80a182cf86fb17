import { toCsv } from "@/shared/csv";

describe("a table as CSV", () => {
  it("doubles quotes and quotes what would split a field", () => {
    expect(toCsv([{ name: "a,b", values: ['say "hi"', "two\nlines"] }])).toBe('"a,b"\r\n"say ""hi"""\r\n"two\nlines"\r\n');
  });

  it("leaves what was not observed empty, and pads short columns", () => {
    const table = toCsv([
      { name: "x", values: [1, NaN, null] },
      { name: "y", values: Float64Array.of(0.5) },
    ]);
    expect(table).toBe("x,y\r\n1,0.5\r\n,\r\n,\r\n");
  });
});
