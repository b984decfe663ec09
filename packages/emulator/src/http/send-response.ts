import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Writes a Web `Response` to a socket, no faster than the client reads. */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  if (reader === undefined) {
    outgoing.end();
    return;
  }
  // A client that leaves must also end a stream that is waiting for its next chunk.
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
