import { Redis } from "ioredis";
import { vi } from "vitest";
import { type RedisServer, startRedisServer } from "./redis-server.js";

/** A cluster of three masters. */
export interface RedisCluster {
  readonly nodes: readonly RedisServer[];
  readonly remove: () => Promise<void>;
}

const SLOTS = 16_384;

export async function startRedisCluster(program: string): Promise<RedisCluster> {
  const options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
  const started = await Promise.allSettled([0, 1, 2].map(() => startRedisServer(program, options)));
  const nodes = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const remove = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.remove())));
  const failed = started.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await remove();
    throw failed.reason;
  }
  const clients = nodes.map(({ url }) => new Redis(url));
  const [first] = nodes;
  try {
    await Promise.all(
      clients.map(async (client, index) => {
        const [from, to] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / clients.length));
        await client.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(Number(to) - 1));
        if (index > 0) await client.call("CLUSTER", "MEET", "127.0.0.1", String(first?.port));
      }),
    );
    for (const client of clients) {
      const assertWhole = async (): Promise<void> => {
        const info = String(await client.call("CLUSTER", "INFO"));
        if (!/cluster_state:ok[^]*cluster_known_nodes:3/.test(info)) throw new Error(info);
      };
      await vi.waitFor(assertWhole, { timeout: 20_000 });
    }
  } catch (error) {
    await remove();
    throw error;
  } finally {
    for (const client of clients) client.disconnect();
  }
  return { nodes, remove };
}
