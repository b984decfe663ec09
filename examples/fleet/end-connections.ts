import type { Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";

/** Ends the connections of a server behind a load balancer that keeps connections open. */
export interface Parting {
  /**
   * From now on, each connection ends after its current response. Otherwise the balancer would send more requests
   * over it, which would be refused.
   */
  endConnectionsAfterResponses(): void;
  /**
   * Accepts no new connections. Unlike `server.close()`, it does not end connections without a request so far: a
   * request may be on its way over a new connection, and a balancer would not repeat it.
   */
  stopListening(): void;
}

/** Tracks the responses of a server until its connections are ended. */
export function followConnections(server: Server): Parting {
  const underWay = new Set<ServerResponse>();
  let isParting = false;
  // Registered before the server's own listener, which may respond at once.
  server.prependListener("request", (_req, res) => {
    if (isParting) return endConnectionAfter(res);
    underWay.add(res);
    res.once("close", () => underWay.delete(res));
  });
  return {
    endConnectionsAfterResponses() {
      isParting = true;
      for (const res of underWay) endConnectionAfter(res);
    },
    stopListening: () => void NetServer.prototype.close.call(server),
  };
}

function endConnectionAfter(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader("connection", "close");
  // The headers of a stream have already announced that the connection stays open.
  else res.once("finish", () => res.req.socket.end());
}
