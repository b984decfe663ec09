import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A loopback port that leads to one server after another, as the address of a database that can fail over does. */
export interface Relay {
  readonly port: number;
  /** From now on, what the server sends is lost. It still gets what clients send. */
  readonly loseReplies: () => void;
  /** How many replies were lost. */
  readonly lost: () => number;
  /** Closes all connections. New ones go to another port of this machine. */
  readonly moveTo: (port: number) => void;
  readonly close: () => void;
}

/** Starts a relay to a port of this machine. */
export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let port = target;
  let losesReplies = false;
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined); // the other end sees that it closed
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (bytes) => {
      if (losesReplies) lost++;
      else client.write(bytes);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port.");
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    loseReplies: () => {
      losesReplies = true;
    },
    lost: () => lost,
    moveTo: (next) => {
      port = next;
      losesReplies = false;
      closeAll();
    },
    close: () => {
      server.close();
      closeAll();
    },
  };
}
