import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** A server that counts its connections and closes them. */
export interface Trap {
  readonly port: number;
  readonly caught: () => number;
  readonly close: () => Promise<void>;
}

export async function startTrap(): Promise<Trap> {
  let caught = 0;
  const server = createServer((socket) => {
    caught++;
    socket.destroy();
  });
  return { port: await listen(server), caught: () => caught, close: () => stop(server) };
}

/** Returns a loopback port without a server. */
export async function findClosedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await stop(server);
  return port;
}

/** Listens on a free port of loopback. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return isAddress(address) ? address.port : 0;
}

export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
