import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";

/** Starts a server on a free port of the loopback interface. Returns the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}
