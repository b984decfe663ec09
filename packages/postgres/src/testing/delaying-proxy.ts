import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy in front of a server, on a loopback socket. */
export interface DelayingProxy {
  /** The URL of the server through the proxy. */
  readonly url: string;
  /** From now on, withholds what a client sends, starting with the first chunk that contains the word. */
  readonly delay: (word: string) => void;
  /** Closes the client side of each connection with withheld data. */
  readonly cutOff: () => void;
  /** Delivers the withheld data, even if its client has disconnected, and withholds nothing more. */
  readonly deliver: () => Promise<void>;
  /** The number of connections with withheld data. */
  readonly delayed: () => number;
  readonly close: () => Promise<void>;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  readonly kept: Buffer[];
}

/** Starts a proxy that delays statements until the test delivers them. */
export async function startDelayingProxy(url: string): Promise<DelayingProxy> {
  const { hostname, port } = new URL(url);
  const connections = new Set<Connection>();
  let word: string | undefined;
  const withKept = (): Connection[] => [...connections].filter(({ kept }) => kept.length > 0);

  const proxy = createServer((client) => {
    const server = connect(Number(port || 5432), hostname);
    const connection: Connection = { client, server, kept: [] };
    connections.add(connection);
    client.on("data", (chunk) => {
      const isDelayed = connection.kept.length > 0 || (word !== undefined && chunk.includes(word));
      if (isDelayed) connection.kept.push(chunk);
      else server.write(chunk);
    });
    server.on("data", (chunk) => void client.write(chunk));
    client.on("error", () => undefined).on("close", () => connection.kept.length === 0 && server.end());
    server
      .on("error", () => undefined)
      .on("close", () => {
        client.destroy();
        connections.delete(connection);
      });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port.");
  const proxied = new URL(url);
  proxied.hostname = "127.0.0.1";
  proxied.port = String(address.port);

  return {
    url: proxied.href,
    delay: (delayed) => {
      word = delayed;
    },
    cutOff: () => {
      for (const { client } of withKept()) client.destroy();
    },
    delayed: () => withKept().length,
    deliver: async () => {
      word = undefined;
      await Promise.all(
        withKept().map(async ({ client, server, kept }) => {
          const closed = once(server, "close");
          server.write(Buffer.concat(kept.splice(0)));
          // A client that has disconnected sends nothing more.
          if (client.destroyed) server.end();
          await closed;
        }),
      );
    },
    close: async () => {
      for (const { client, server } of connections) {
        client.destroy();
        server.destroy();
      }
      proxy.close();
      await once(proxy, "close");
    },
  };
}
