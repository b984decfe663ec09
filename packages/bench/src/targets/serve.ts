import { createServer, type RequestListener } from "node:http";
import { endWithParent, tellParent } from "../processes/parent.ts";
import { portOf } from "../system/port-of.ts";

/** The length of the queue for connections, for thousands of clients that connect at the same time. */
const BACKLOG = 4096;

/** Serves on a free loopback port, and sends the port to the parent process. */
export function serve(listener: RequestListener): void {
  const server = createServer(listener);
  // Connections stay open between rounds.
  server.keepAliveTimeout = 600_000;
  endWithParent();
  // Exits normally, so that Node writes the profile.
  process.on("SIGTERM", () => process.exit());
  server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }, () => {
    tellParent({ kind: "listening", port: portOf(server) });
  });
}
