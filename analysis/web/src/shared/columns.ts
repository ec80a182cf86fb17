export type Numbers = Float64Array | Float32Array | Int32Array | Uint32Array | Int16Array | Uint16Array | Int8Array
  | Uint8Array;

type FromBase64 = { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }; // in browsers since 2025

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as FromBase64).fromBase64;
  if (native !== undefined) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(new ArrayBuffer(binary.length));
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export const inflated = (base64: string): ReadableStream<Uint8Array<ArrayBuffer>> =>
  new Blob([bytesOfBase64(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));

/** The data that the program put into this page, deflated where it could; null in a page without data. */
export async function pageData<T>(): Promise<T | null> {
  const element = document.getElementById("kvsweep-data");
  const data = JSON.parse(element?.textContent ?? "null") as { deflated?: string } | null;
  return (data?.deflated === undefined ? data : JSON.parse(await new Response(inflated(data.deflated)).text())) as T | null;
}
