import { unpack } from "@/shared/columns";

const pack = (values: ArrayBufferView) => Buffer.from(values.buffer).toString("base64");

describe("a packed column", () => {
  it("holds the numbers it was packed from", () => {
    const values = Float64Array.of(0, -1.5, NaN, 1e300);
    expect(unpack({ type: "f64", data: pack(values) })).toEqual(values);
    expect(unpack({ type: "u8", data: pack(Uint8Array.of(0, 255)) })).toEqual(Uint8Array.of(0, 255));
  });

  it("is multiplied by its scale", () => {
    expect([...unpack({ type: "i32", data: pack(Int32Array.of(3)), scale: 0.5 })]).toEqual([1.5]);
  });

  it("may be a plain array", () => {
    expect([...unpack([1, 2])]).toEqual([1, 2]);
  });

  it("of a type that pages do not know is refused by its name", () => {
    expect(() => unpack({ type: "f16" as "f32", data: "" })).toThrow("f16");
  });
});
