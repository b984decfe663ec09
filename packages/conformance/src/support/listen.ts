import { createServer, type RequestListener } from "node:http";

/** A server of a test. */
export interface Listening {
  /** For example `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Stops listening and closes all connections. */
  readonly close: () => Promise<void>;
}

/** Serves on a free port of this machine. */
export async function listen(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
