import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * How long a client may take not a single byte. A phone that changes networks is back well within a
 * minute; who is away for longer holds the provider's connection and the request's settlement.
 */
const MAX_STALL_MS = 60_000;

/**
 * Resolves when the client has read what was written, or is gone. One that takes nothing for
 * `maxStallMs` is disconnected; one that reads slowly is waited for, however long it takes.
 */
export function waitForDrain(res: ServerResponse, maxStallMs = MAX_STALL_MS): Promise<void> {
  return new Promise((resolve) => {
    const liftLimit = limitStall(res, maxStallMs);
    const settle = (): void => {
      liftLimit();
      res.off("drain", settle);
      res.off("close", settle);
      resolve();
    };
    res.on("drain", settle);
    res.on("close", settle);
    // A client that left before the listeners stood will never be heard again.
    if (res.destroyed) settle();
  });
}

/**
 * Destroys the response when its socket stalls, until the returned function is called. The socket's
 * own timeout is the clock, as it alone sees the system take a part of a write and starts
 * anew; hence a stall may also be noticed one interval late. A timeout set by the host stays.
 */
function limitStall(res: ServerResponse, maxStallMs: number): () => void {
  let limited: Socket | undefined;
  const start = (socket: Socket): void => {
    if (socket.timeout) return;
    socket.setTimeout(maxStallMs);
    limited = socket;
  };
  const expire = (): void => void res.destroy();
  res.on("timeout", expire);
  // A pipelined response has no socket before the one in front of it has ended.
  if (res.socket) start(res.socket);
  else res.once("socket", start);
  return () => {
    res.off("timeout", expire);
    res.off("socket", start);
    limited?.setTimeout(0);
  };
}
