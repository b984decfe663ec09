import { createServer, type RequestListener } from "node:http";
import { endWithParent, tellParent } from "../processes/parent.ts";
import { portOf } from "../system/port-of.ts";

/** Room for thousands of clients that connect in one moment. */
const BACKLOG = 4096;

/** Serves on a free port of loopback, and tells it to the process that started this one. */
export function serve(listener: RequestListener): void {
  const server = createServer(listener);
  // Connections outlive the pauses between rounds.
  server.keepAliveTimeout = 600_000;
  endWithParent();
  // An orderly end, so that a profile is written.
  process.on("SIGTERM", () => process.exit());
  server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }, () => {
    tellParent({ kind: "listening", port: portOf(server) });
  });
}
