import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { vi } from "vitest";
import { createRandom } from "../crashes/seeded-random.js";
import { startLoad } from "../crashes/start-load.js";
import {
  POSTGRES_PROGRAMS,
  type PostgresServer,
  startPostgresReplica,
  startPostgresServer,
} from "../postgres/postgres-server.js";
import { PGBOUNCER, startPgBouncer } from "../support/pgbouncer.js";
import { findMaster, startRedisCluster } from "../support/redis-cluster.js";
import { REDIS_SERVER } from "../support/redis-server.js";
import { POSTGRES, REDIS, type Service, urlOf } from "../support/service.js";
import { MOUNT, mountSmallDisk } from "../support/small-disk.js";
import { startTcpRelay, type TcpRelay } from "../support/tcp-relay.js";
import { SEED } from "../support/test-run.js";
import { type DayReport, spendDay, spendDayWithTasks } from "./spend-day.js";

/** A bad day, and what it may do. */
export interface BadDay {
  readonly id: string;
  /** A cell of the table. */
  readonly title: string;
  readonly needs: readonly Service[];
  /** Whether it lasts so long that requests are refused. */
  readonly refuses: boolean;
  /** Whether charges are lost that were acknowledged. */
  readonly loses: boolean;
  /** What the gateways must have logged, so that the bad day really happened. */
  readonly cause?: RegExp;
  readonly run: () => Promise<DayReport>;
}

const programs = (): string => urlOf(POSTGRES_PROGRAMS);

export const BAD_DAYS: readonly BadDay[] = [
  {
    id: "restart",
    title: "PostgreSQL is restarted, and then crashes",
    needs: [REDIS, POSTGRES_PROGRAMS],
    refuses: true,
    loses: false,
    run: async () => {
      const server = await startPostgresServer(programs());
      try {
        return await spendDay({
          place: { redisUrl: urlOf(REDIS), postgresUrl: server.url },
          happen: async () => {
            for (const how of ["fast", "immediate"] as const) {
              await server.stop(how);
              await sleep(500);
              await server.start();
              await sleep(500);
            }
          },
        });
      } finally {
        await server.remove();
      }
    },
  },
  {
    id: "tables-full",
    title: "The disk of the tables is full",
    needs: [REDIS, POSTGRES_PROGRAMS, MOUNT],
    refuses: true,
    loses: false,
    cause: /No space left on device/,
    run: async () => {
      const disk = mountSmallDisk(160);
      try {
        const server = await startPostgresServer(programs(), { tables: disk.folder });
        try {
          return await spendDay({
            place: { redisUrl: urlOf(REDIS), postgresUrl: server.url },
            happen: async (fleet) => {
              disk.fill();
              // Holds use the space of earlier ones, and more clients need more of it.
              const loads = Array.from({ length: 4 }, (_, at) =>
                startLoad(fleet.nextUrl, `more-${at}`, createRandom(SEED + at)),
              );
              await untilLogged(fleet.servers, /the request was not sent[^]*No space left on device/);
              await sleep(500);
              disk.free();
              for (const load of loads) fleet.sightings.push(...(await load.stop()));
            },
          });
        } finally {
          await server.remove();
        }
      } finally {
        disk.remove();
      }
    },
  },
  {
    id: "log-full",
    title:
      "The disk of the write-ahead log is full: PostgreSQL stops, and is started when there is space again",
    needs: [REDIS, POSTGRES_PROGRAMS, MOUNT],
    refuses: true,
    loses: false,
    run: async () => {
      const disk = mountSmallDisk(32);
      try {
        const server = await startPostgresServer(programs(), { log: disk.folder });
        try {
          return await spendDay({
            place: { redisUrl: urlOf(REDIS), postgresUrl: server.url },
            happen: async () => {
              disk.fill();
              await vi.waitUntil(async () => !(await switchLog(server)), { timeout: 30_000, interval: 50 });
              await sleep(1_000);
              disk.free();
              await server.stop("immediate").catch(() => undefined); // it has stopped
              await server.start();
            },
          });
        } finally {
          await server.remove();
        }
      } finally {
        disk.remove();
      }
    },
  },
  {
    id: "month-missing",
    title: "The partition of the month is missing, and then the one of the rest too",
    needs: [REDIS, POSTGRES],
    refuses: false,
    loses: false,
    run: async () =>
      await spendDay({
        place: { redisUrl: urlOf(REDIS), postgresUrl: urlOf(POSTGRES) },
        happen: async (fleet) =>
          await withClient(urlOf(POSTGRES), async (client) => {
            const schema = client.escapeIdentifier(fleet.plan.schema);
            const months = await client.query<{ name: string }>(`SELECT name FROM ${schema}.list_months()`);
            for (const { name } of months.rows) {
              const table = `${schema}.${client.escapeIdentifier(name)}`;
              await client.query(`ALTER TABLE ${schema}.records DETACH PARTITION ${table}`);
              // What was recorded so far goes to the rest, as if there had been no month.
              await client.query(`INSERT INTO ${schema}.records SELECT * FROM ${table}; DROP TABLE ${table}`);
            }
            await sleep(1_000);
            const rest = `${schema}.records_rest`;
            await client.query(`ALTER TABLE ${schema}.records DETACH PARTITION ${rest}`);
            await sleep(1_000);
            await client.query(`ALTER TABLE ${schema}.records ATTACH PARTITION ${rest} DEFAULT`);
            // What each sweep does.
            await client.query(`SELECT ${schema}.make_month(NULL)`);
            const { rows } = await client.query<{ count: string }>(`SELECT count(*) FROM ${rest}`);
            if (rows[0]?.count !== "0") throw new Error("The month did not get its records from the rest.");
          }),
      }),
  },
  {
    id: "clock",
    title: "The clocks of the gateways jump by a day, by two days back, and by a year",
    needs: [REDIS, POSTGRES],
    refuses: false,
    loses: false,
    run: async () =>
      await spendDay({
        place: { redisUrl: urlOf(REDIS), postgresUrl: urlOf(POSTGRES) },
        flags: ["--import", new URL("jumping-clock.ts", import.meta.url).href],
        happen: async ({ servers }) => {
          for (let jump = 0; jump < 4; jump++) {
            for (const server of servers) {
              server.signal("SIGUSR2");
              // One after the other, so that their clocks differ meanwhile.
              await sleep(250);
            }
          }
        },
      }),
  },
  {
    id: "failover",
    title: "The primary is lost in the middle of settlements, three times; the replica is synchronous",
    needs: [REDIS, POSTGRES_PROGRAMS],
    refuses: false,
    loses: false,
    run: async () => await failOver(3, { isSynchronous: true }),
  },
  {
    id: "failover-tasks",
    title: "The same once, with clients that submit tasks",
    needs: [REDIS, POSTGRES_PROGRAMS],
    refuses: false,
    loses: false,
    run: async () => await failOver(1, { isSynchronous: true, spend: spendDayWithTasks }),
  },
  {
    id: "failover-behind",
    title: "The primary is lost in the same way; the replica is asynchronous, and half a second behind",
    needs: [REDIS, POSTGRES_PROGRAMS],
    refuses: false,
    loses: true,
    run: async () => await failOver(1, { isSynchronous: false }),
  },
  {
    id: "replica-lost",
    title: "The synchronous replica is lost, so that no commit of the primary ends, and comes back",
    needs: [REDIS, POSTGRES_PROGRAMS],
    refuses: true,
    loses: false,
    cause: /did not respond in time/,
    run: async () => {
      const primary = await startPostgresServer(programs());
      try {
        const replica = await startPostgresReplica(programs(), primary.port, "replica");
        try {
          await untilStreaming(primary.url, true);
          return await spendDay({
            place: { redisUrl: urlOf(REDIS), postgresUrl: primary.url },
            happen: async (fleet) => {
              await replica.stop("immediate");
              try {
                await untilLogged(fleet.servers, /the request was not sent[^]*did not respond in time/);
                await sleep(3_000);
              } finally {
                await replica.start();
              }
            },
          });
        } finally {
          await replica.remove();
        }
      } finally {
        await primary.remove();
      }
    },
  },
  {
    id: "pgbouncer",
    title: "PgBouncer is killed and started, three times",
    needs: [REDIS, POSTGRES, PGBOUNCER],
    refuses: false,
    loses: false,
    run: async () => {
      const bouncer = await startPgBouncer(urlOf(POSTGRES));
      try {
        return await spendDay({
          place: { redisUrl: urlOf(REDIS), postgresUrl: bouncer.url },
          happen: async () => {
            for (let time = 0; time < 3; time++) {
              await bouncer.restart();
              await sleep(400);
            }
          },
        });
      } finally {
        await bouncer.stop();
      }
    },
  },
  {
    id: "redis-master",
    title: "Redis Cluster loses a master, and its replica takes over",
    needs: [REDIS_SERVER, POSTGRES],
    refuses: true,
    loses: false,
    run: async () => {
      const cluster = await startRedisCluster(urlOf(REDIS_SERVER));
      const ports = cluster.nodes.map(({ port }) => port);
      try {
        return await spendDay({
          place: { redisUrl: "", redisCluster: ports, postgresUrl: urlOf(POSTGRES) },
          happen: async () => {
            await (await findMaster(cluster, "{shop}")).stop();
            await sleep(1_000);
          },
        });
      } finally {
        await cluster.remove();
      }
    },
  },
];

/** Lets replicas take the place of their primaries while the gateways use one address. */
async function failOver(
  times: number,
  { isSynchronous, spend = spendDay }: { readonly isSynchronous: boolean; readonly spend?: typeof spendDay },
): Promise<DayReport> {
  const servers: PostgresServer[] = [];
  const relays: TcpRelay[] = [];
  try {
    let primary = await startPostgresServer(programs());
    servers.push(primary);
    const relay = await startTcpRelay({ host: "127.0.0.1", port: primary.port });
    relays.push(relay);
    const failOnce = async (): Promise<void> => {
      const stream = await startTcpRelay({ host: "127.0.0.1", port: primary.port });
      relays.push(stream);
      const replica = await startPostgresReplica(programs(), stream.port, "replica");
      servers.push(replica);
      await untilStreaming(primary.url, isSynchronous);
      await sleep(500);
      if (!isSynchronous) {
        await stream.set("deaf");
        await sleep(500);
      }
      // The primary commits, and nobody learns of it.
      const enough = relay.lost() + 4;
      await relay.set("deaf");
      await vi.waitUntil(() => relay.lost() >= enough, { timeout: 30_000, interval: 10 });
      await primary.stop("immediate");
      await replica.promote();
      relay.moveTo(replica.port);
      primary = replica;
    };
    return await spend({
      place: {
        redisUrl: urlOf(REDIS),
        postgresUrl: `postgres://postgres@127.0.0.1:${relay.port}/postgres`,
      },
      happen: async () => {
        for (let time = 0; time < times; time++) await failOnce();
      },
    });
  } finally {
    for (const relay of relays) await relay.close();
    for (const server of servers) await server.remove();
  }
}

/** Resolves when the replica has what the primary has, and, if it is to be synchronous, when commits wait for it. */
async function untilStreaming(primaryUrl: string, isSynchronous: boolean): Promise<void> {
  await withClient(primaryUrl, async (client) => {
    if (isSynchronous) {
      await client.query("ALTER SYSTEM SET synchronous_standby_names = 'replica'");
      await client.query("SELECT pg_reload_conf()");
    }
    const expected = isSynchronous ? "sync" : "async";
    await vi.waitFor(async () => {
      const { rows } = await client.query<{ sync_state: string }>(
        "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'",
      );
      if (rows[0]?.sync_state !== expected) throw new Error("The replica does not stream yet.");
    });
  });
}

/** Ends the present segment of the log, so that the next one is needed. Returns false if the server has stopped. */
async function switchLog({ url }: PostgresServer): Promise<boolean> {
  try {
    await withClient(url, async (client) => await client.query("SELECT pg_switch_wal()"));
    return true;
  } catch {
    return false; // it has no space for the next one
  }
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined); // the statement rejects, too
  await client.connect();
  try {
    return await work(client);
  } finally {
    const ended = once(client, "end");
    await client.end();
    await ended;
  }
}

async function untilLogged(
  servers: readonly { errors(): readonly string[] }[],
  pattern: RegExp,
): Promise<void> {
  await vi.waitUntil(() => servers.some((server) => pattern.test(server.errors().join("\n"))), {
    timeout: 60_000,
    interval: 50,
  });
}
