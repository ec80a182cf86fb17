import { bytesOfBase64 } from "@/shared/columns";

describe("base64", () => {
  it("holds the bytes it was made from", () => {
    const bytes = Uint8Array.from({ length: 257 }, (_, i) => i % 256);
    for (const length of [0, 1, 2, 3, 257]) {
      const text = Buffer.from(bytes.subarray(0, length)).toString("base64");
      expect([...bytesOfBase64(text)]).toEqual([...bytes.subarray(0, length)]);
    }
  });
});
