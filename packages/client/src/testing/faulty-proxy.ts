import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A proxy in front of a server on this machine, whose connections fail as they do on real networks. */
export interface FaultyProxy {
  readonly url: string;
  /** Closes the next connections before a byte was forwarded. */
  readonly refuse: (connections: number) => void;
  /** Forwards the next request, and closes its connection after this many bytes of the response. */
  readonly cutResponse: (afterBytes: number) => void;
  /** How many requests the server got. */
  readonly requests: () => number;
  /** Closes all connections, as when a server restarts. */
  readonly dropAll: () => void;
}

/** Starts a proxy, which is closed when the test ends. Each connection serves one request. */
export async function startFaultyProxy(origin: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(origin);
  const sockets = new Set<Socket>();
  let refused = 0;
  let cut: number | undefined;
  let requests = 0;
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((client) => {
    if (refused > 0) {
      refused--;
      return void client.destroy();
    }
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // The other socket is closed, too.
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (/^(?:GET|POST) /.test(bytes.toString("latin1", 0, 5))) requests++;
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (cut === undefined) return void client.write(bytes);
      const rest = bytes.subarray(0, cut);
      cut -= rest.length;
      if (rest.length > 0) client.write(rest);
      if (cut > 0) return;
      cut = undefined;
      client.destroySoon();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    dropAll();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy listens on a port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    refuse: (connections) => {
      refused = connections;
    },
    cutResponse: (afterBytes) => {
      cut = afterBytes;
    },
    requests: () => requests,
    dropAll,
  };
}
