import type { Server, ServerResponse } from "node:http";

/**
 * Follows the answers of a server. What it gives is called when the server ends: from then on each connection ends with
 * its answer. Else a balancer that keeps connections goes on to send requests over them, and each is refused.
 */
export function watchConnections(server: Server): () => void {
  const underWay = new Set<ServerResponse>();
  let isEnding = false;
  // Before the server's own listener, which may answer at once.
  server.prependListener("request", (_req, res) => {
    if (isEnding) return endConnectionAfter(res);
    underWay.add(res);
    res.once("close", () => underWay.delete(res));
  });
  return () => {
    isEnding = true;
    for (const res of underWay) endConnectionAfter(res);
  };
}

function endConnectionAfter(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader("connection", "close");
  // A stream has promised already that the connection stays.
  else res.once("finish", () => res.req.socket.end());
}
