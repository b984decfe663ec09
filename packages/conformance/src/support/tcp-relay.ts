import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A TCP relay in front of a server that can make it slow, silent or unreachable, and lose its replies. */
export interface TcpRelay {
  readonly port: number;
  /**
   * `down`: refuses and closes connections. `silent`: keeps all bytes until the state is `up`. `slow`: delays all bytes. `lossy`:
   * closes the connection instead of every fourth reply.
   */
  readonly set: (state: RelayState) => Promise<void>;
  readonly close: () => Promise<void>;
}

type RelayState = "up" | "slow" | "silent" | "lossy" | "down";

const SLOW_MS = 60;
const REPLIES_PER_LOSS = 4;

export async function startTcpRelay(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  let state: RelayState = "up";
  let replies = 0;
  /** What waits until the relay is up again. */
  const kept: (() => void)[] = [];
  const pass = (bytes: Buffer, to: Socket): void => {
    if (state === "silent") kept.push(() => to.write(bytes));
    else if (state === "up" || state === "lossy") to.write(bytes);
    else setTimeout(() => to.write(bytes), SLOW_MS);
  };
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined); // the other side sees that it closed
      socket.on("data", (bytes) => {
        const isReply = socket === upstream;
        if (state === "lossy" && isReply && ++replies % REPLIES_PER_LOSS === 0) other.destroy();
        else pass(bytes, other);
      });
      socket.on("close", () => {
        sockets.delete(socket);
        // After the bytes that are kept. A server then runs a statement that nobody waits for any more.
        if (state === "silent") kept.push(() => other.destroy());
        else other.destroy();
      });
    }
  });
  const listen = async (port: number): Promise<number> => {
    await once(server.listen(port, "127.0.0.1"), "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("The relay has no port.");
    return address.port;
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const port = await listen(0);
  return {
    port,
    async set(next) {
      state = next;
      if (next === "down") await stop();
      else if (!server.listening) await listen(port);
      if (next === "up") for (const goOn of kept.splice(0)) goOn();
    },
    close: stop,
  };
}
