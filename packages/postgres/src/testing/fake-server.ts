import { once } from "node:events";
import { createServer, type Socket } from "node:net";

/** A message of PostgreSQL's protocol: a letter, the length, the body. */
function message(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const AUTHENTICATION_OK = message("R", Buffer.alloc(4));
const READY_FOR_QUERY = message("Z", Buffer.from("I"));
/** The message that a server sends after `pg_terminate_backend`. */
const TERMINATED = message(
  "E",
  Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
);

/** A server on a loopback socket. */
export interface FakeServer {
  readonly url: string;
  /** The number of accepted connections. */
  readonly accepted: () => number;
  readonly close: () => Promise<void>;
}

/**
 * Starts a server that ends every session as soon as it has begun. It sends both messages in one write, so that they
 * arrive in one TCP segment.
 */
export async function startTerminatingServer(): Promise<FakeServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATION_OK, READY_FOR_QUERY, TERMINATED])));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `postgres://nobody@127.0.0.1:${address.port}/nothing`,
    accepted: () => accepted,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
