import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A server on loopback for tests that need sockets. */
export interface LoopbackServer {
  readonly url: string;
  /** The number of accepted connections. */
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

export async function startServer(listener: RequestListener): Promise<LoopbackServer> {
  let connections = 0;
  const server = createServer(listener);
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    connections: () => connections,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The same, until the end of the test. */
export async function serve(listener: RequestListener): Promise<LoopbackServer> {
  const server = await startServer(listener);
  onTestFinished(server.close);
  return server;
}

/** A loopback address without a server. */
export async function findClosedUrl(): Promise<string> {
  const server = await startServer(() => {});
  await server.close();
  return server.url;
}

function portOf(address: string | AddressInfo | null): number {
  return typeof address === "object" && address !== null ? address.port : 0;
}
