import { Redis } from "ioredis";
import { vi } from "vitest";
import { type RedisServer, startRedisServer } from "./redis-server.js";

/** A cluster of three masters, each with a replica: six servers. */
export interface RedisCluster {
  /** The masters at the start. */
  readonly nodes: readonly RedisServer[];
  readonly replicas: readonly RedisServer[];
  readonly remove: () => Promise<void>;
}

const SLOTS = 16_384;
const MASTERS = 3;
const PATIENCE_MS = 20_000;

export async function startRedisCluster(program: string): Promise<RedisCluster> {
  const options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
  const started = await Promise.allSettled(
    Array.from({ length: 2 * MASTERS }, () => startRedisServer(program, options)),
  );
  const servers = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const remove = async (): Promise<void> =>
    void (await Promise.all(servers.map((server) => server.remove())));
  const failed = started.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    await remove();
    throw failed.reason;
  }
  const clients = servers.map(({ url }) => new Redis(url));
  const [first] = servers;
  try {
    await Promise.all(
      clients.map(async (client, index) => {
        const [from, to] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / MASTERS));
        if (index < MASTERS)
          await client.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(Number(to) - 1));
        if (index > 0) await client.call("CLUSTER", "MEET", "127.0.0.1", String(first?.port));
      }),
    );
    const ids = await Promise.all(
      clients.map(async (client) => String(await client.call("CLUSTER", "MYID"))),
    );
    for (const client of clients) {
      const assertWhole = async (): Promise<void> => {
        const info = String(await client.call("CLUSTER", "INFO"));
        if (!/cluster_state:ok[^]*cluster_known_nodes:6/.test(info)) throw new Error(info);
      };
      await vi.waitFor(assertWhole, { timeout: PATIENCE_MS });
    }
    for (const [index, client] of clients.entries()) {
      if (index < MASTERS) continue;
      const replicate = async (): Promise<unknown> =>
        await client.call("CLUSTER", "REPLICATE", String(ids[index - MASTERS]));
      await vi.waitFor(replicate, { timeout: PATIENCE_MS });
      const assertLinked = async (): Promise<void> => {
        const info = await client.info("replication");
        if (!info.includes("master_link_status:up")) throw new Error(info);
      };
      await vi.waitFor(assertLinked, { timeout: PATIENCE_MS });
    }
  } catch (error) {
    await remove();
    throw error;
  } finally {
    for (const client of clients) client.disconnect();
  }
  return { nodes: servers.slice(0, MASTERS), replicas: servers.slice(MASTERS), remove };
}

/** The master that has the keys with a hash tag, such as `{shop}`. */
export async function findMaster({ nodes }: RedisCluster, tag: string): Promise<RedisServer> {
  const client = new Redis(nodes[0]?.port ?? 0);
  const slot = await client.cluster("KEYSLOT", tag);
  client.disconnect();
  // The masters have equal shares of the slots, in order.
  const master = nodes[Math.floor((slot * MASTERS) / SLOTS)];
  if (master === undefined) throw new Error("No master has it.");
  return master;
}
