import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Returns the bytes in use after a garbage collection, including buffers. On V8 only. */
export function measureHeap(): number {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  // Buffers that one collection finds are freed by the next collection.
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
