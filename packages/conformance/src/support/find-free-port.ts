import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port that no program listens on at the moment. It is below the range that systems give to clients and to servers that listen on
 * port 0, so none of these takes it before a program has started.
 *
 * @param above the distances of further ports that must be free, too, at most 10,000
 */
export async function findFreePort(...above: readonly number[]): Promise<number> {
  const port = 10_000 + Math.floor(Math.random() * 10_000);
  const isFree = (await Promise.all([0, ...above].map((distance) => canListen(port + distance)))).every(
    Boolean,
  );
  return isFree ? port : await findFreePort(...above);
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port), "listening");
    server.close();
    await once(server, "close");
    return true;
  } catch {
    return false; // another has it
  }
}
