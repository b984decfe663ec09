import type { ServerResponse } from "node:http";
import { setTimeout as sleepFor } from "node:timers/promises";

const pollMs = 2;
/** A reset overtakes what the client has not read yet, so it is given a moment to read. */
const graceMs = 20;

/** Ends the connection with a TCP reset, after everything written so far has left this process. */
export async function resetConnection(outgoing: ServerResponse): Promise<void> {
  const { socket } = outgoing;
  if (socket === null) {
    outgoing.destroy();
    return;
  }
  while (socket.writableLength > 0 && !socket.destroyed) await sleepFor(pollMs);
  await sleepFor(graceMs);
  socket.resetAndDestroy();
}
