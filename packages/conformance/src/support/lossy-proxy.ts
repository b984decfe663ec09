import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy for a server on this machine that can lose the reply to a command that was executed. */
export interface LossyProxy {
  readonly url: string;
  /** Closes the connection instead of forwarding the next reply. */
  readonly loseNextResponse: () => void;
  readonly close: () => void;
}

export async function startLossyProxy(port: number): Promise<LossyProxy> {
  const sockets = new Set<Socket>();
  let isToLose = false;
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
      if (isToLose) client.destroy();
      else client.write(bytes);
      isToLose = false;
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("It listens on a port.");
  return {
    url: `redis://127.0.0.1:${address.port}`,
    loseNextResponse: () => {
      isToLose = true;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
