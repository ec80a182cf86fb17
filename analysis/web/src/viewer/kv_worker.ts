import { readKvData, type EventSource } from "./page_events";

/** Every buffer of a value, so that it is transferred, not copied. */
function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === "object" && value !== null) for (const each of Object.values(value)) buffersOf(each, found);
  return found;
}

self.onmessage = async ({ data }: MessageEvent<EventSource>) => {
  try {
    const read = await readKvData(data);
    self.postMessage({ read }, { transfer: [...buffersOf(read)] });
  } catch (error) {
    self.postMessage({ failed: error instanceof Error ? error.message : String(error) });
  }
};
