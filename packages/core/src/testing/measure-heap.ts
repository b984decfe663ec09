import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes in use once the garbage is gone, those of buffers included. On V8 only. */
export function measureHeap(): number {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  // Buffers that one collection finds are freed by the next.
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
