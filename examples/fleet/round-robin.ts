import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Running } from "./program.ts";

/** Forwards connections to local ports in turn, or to the next port if the connection is refused. */
export async function startRoundRobin(port: number, targets: readonly number[]): Promise<Running> {
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => client.destroy());
    join(
      client,
      targets.map((_, index) => targets[(turn + index) % targets.length] ?? 0),
    );
    turn++;
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return {
    // Open connections continue. A gateway that ends closes its own.
    async stop() {
      server.close();
      await once(server, "close");
    },
  };
}

function join(client: Socket, [port, ...others]: readonly number[]): void {
  if (port === undefined) return void client.destroy();
  const target = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  target.once("connect", () => {
    client.pipe(target).pipe(client);
    client.once("close", () => target.destroy());
    target.once("close", () => client.destroy());
  });
  target.once("error", () => {
    if (target.connecting || target.bytesRead + target.bytesWritten === 0) join(client, others);
    else client.destroy();
  });
}
