import type { Server, ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";

/** How a server parts from a balancer that keeps connections. */
export interface Parting {
  /**
   * From now on each connection ends with its response. Else the balancer goes on to send requests over those that it
   * keeps, and each is refused.
   */
  endConnectionsAfterResponses(): void;
  /**
   * Takes no new connection. Unlike `server.close()` it ends none on which no request has come yet: over one that was
   * just made a request is on its way, and a balancer does not send that again.
   */
  stopListening(): void;
}

/** Follows the responses of a server, until it parts. */
export function followConnections(server: Server): Parting {
  const underWay = new Set<ServerResponse>();
  let isParting = false;
  // Before the server's own listener, which may respond at once.
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
  // A stream has promised already that the connection stays.
  else res.once("finish", () => res.req.socket.end());
}
