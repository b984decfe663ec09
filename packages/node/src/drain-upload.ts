import type { IncomingMessage } from "node:http";

const MAX_DRAIN_MS = 1_000;

/** Reads and forgets the rest of an upload, for at most a second; resolves when it ended or was given up. */
export function drainUpload(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer);
      req.off("end", settle);
      req.off("close", settle);
      resolve();
    };
    const timer = setTimeout(settle, MAX_DRAIN_MS);
    req.on("end", settle);
    req.on("close", settle);
    req.resume();
    if (req.destroyed || req.readableEnded) settle();
  });
}
