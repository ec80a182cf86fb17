import type { KvData } from "./model";
import KvWorker from "./kv_worker?worker&inline";
import { readKvData, type EventSource } from "./page_events";

/** Reads KV events in a worker, so that the page stays responsive; in the page if the browser allows no worker. */
export function readKv(source: EventSource): Promise<KvData> {
  return new Promise((done, fail) => {
    const worker = start();
    if (worker === null) {
      done(readKvData(source));
      return;
    }
    worker.onerror = () => {
      worker.terminate();
      done(readKvData(source));
    };
    worker.onmessage = ({ data }: MessageEvent<{ read: KvData } | { failed: string }>) => {
      worker.terminate();
      if ("read" in data) done(data.read);
      else fail(new Error(data.failed));
    };
    worker.postMessage(source);
  });
}

function start(): Worker | null {
  try {
    return new KvWorker();
  } catch {
    return null;
  }
}
