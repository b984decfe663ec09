import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * A TCP relay in front of a server of this machine that can make it slow, silent or unreachable, lose its replies, and lead to another
 * server, as the address of a database that can fail over does.
 */
export interface TcpRelay {
  readonly port: number;
  /**
   * `down`: refuses and closes connections. `silent`: keeps all bytes until the state is `up`. `slow`: delays all bytes. `lossy`:
   * closes the connection instead of every fourth reply. `deaf`: passes what clients send, and loses all replies.
   */
  readonly set: (state: RelayState) => Promise<void>;
  /** Closes the connection instead of passing the next reply. */
  readonly loseNextReply: () => void;
  /** How many replies were lost. */
  readonly lost: () => number;
  /** Closes all connections. New ones go to another port. The state is then `up`. */
  readonly moveTo: (port: number) => void;
  readonly close: () => Promise<void>;
}

type RelayState = "up" | "slow" | "silent" | "lossy" | "deaf" | "down";

const SLOW_MS = 60;
const REPLIES_PER_LOSS = 4;

export async function startTcpRelay(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  let state: RelayState = "up";
  let { port: targetPort } = target;
  let replies = 0;
  let lost = 0;
  let losesNext = false;
  /** What waits until the relay is up again. */
  const kept: (() => void)[] = [];
  const pass = (bytes: Buffer, to: Socket): void => {
    if (state === "silent") kept.push(() => to.write(bytes));
    else if (state === "slow") setTimeout(() => to.write(bytes), SLOW_MS);
    else to.write(bytes);
  };
  /** Counts a reply. Returns true if the connection is closed instead of passing it. */
  const isCut = (): boolean => {
    const cuts = losesNext || (state === "lossy" && ++replies % REPLIES_PER_LOSS === 0);
    losesNext = false;
    if (cuts || state === "deaf") lost++;
    return cuts;
  };
  const server = createServer((client) => {
    const upstream = connect(targetPort, target.host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined); // the other side sees that it closed
      socket.on("data", (bytes) => {
        if (socket === client) pass(bytes, other);
        else if (isCut()) other.destroy();
        else if (state !== "deaf") pass(bytes, other);
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
  const closeConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    closeConnections();
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
    loseNextReply() {
      losesNext = true;
    },
    lost: () => lost,
    moveTo(next) {
      targetPort = next;
      state = "up";
      closeConnections();
    },
    close: stop,
  };
}
