import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Starts a proxy in front of a server of this machine, as load balancers are: it closes a connection on which the server
 * has sent nothing for a time. Returns the proxy's URL. The proxy is closed when the test ends.
 *
 * @param maxSilenceMs how long the server may send nothing after a byte of the client, in milliseconds
 */
export async function startSilenceProxy(origin: string, maxSilenceMs: number): Promise<string> {
  const { hostname, port } = new URL(origin);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
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
    // Bytes in either direction start the time again.
    upstream.setTimeout(maxSilenceMs, () => upstream.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy listens on a port.");
  return `http://127.0.0.1:${address.port}`;
}
