import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as sleepFor } from "node:timers/promises";

/** Writes a Web `Response` to a socket, as fast as the client reads it. */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  if (reader === undefined) {
    outgoing.end();
    return;
  }
  // A stream that waits for its next chunk must end too when the client disconnects.
  const cancel = () => void reader.cancel().catch(() => {});
  outgoing.once("close", cancel);
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(part.value)) await drainOrClose(outgoing);
  }
  outgoing.end();
}

async function drainOrClose(outgoing: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(outgoing, "drain", { signal }), once(outgoing, "close", { signal })]);
  } finally {
    settled.abort();
  }
}

const pollMs = 2;
/** A client loses the bytes that it has not read when the reset arrives, so it gets this time to read them. */
const graceMs = 20;

/** Ends the connection with a TCP reset, after all bytes written so far have left this process. */
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
