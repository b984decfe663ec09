import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { type AnyPostgresPool, createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { Pool as NeonPool, neonConfig } from "@neondatabase/serverless";
import postgres from "postgres";
import { afterAll, beforeAll, describe } from "vitest";
import { WebSocketServer } from "ws";
import type { Clock } from "../ledger-suite/clock.js";
import { createOpened } from "../ledger-suite/open-ledger.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { isFull } from "../support/test-run.js";
import { describePostgresBasics, describePostgresRest } from "./describe-postgres.js";

/*
 * The pools that apps have besides that of `pg`. In `npm test` the money, the outbox and the callers, whose changes are told by
 * LISTEN; in the full run everything.
 */

const RUNS = isFull() ? 20 : 2;

await describeWithService(POSTGRES, (url) => {
  describeOn("postgres.js", url, async () => {
    const sql = postgres(url, { max: 10, onnotice: () => {}, connection: { synchronous_commit: "off" } });
    return { pool: sql, end: () => sql.end() };
  });

  describeOn("Neon's pool over WebSockets", url, async () => {
    const proxy = await startProxy(url);
    const pool = new NeonPool({ connectionString: url, options: "-c synchronous_commit=off" });
    return {
      pool,
      end: async () => {
        await pool.end();
        proxy.close();
      },
    };
  });
});

function describeOn(
  name: string,
  url: string,
  start: () => Promise<{ readonly pool: AnyPostgresPool; readonly end: () => Promise<unknown> }>,
): void {
  describe(`on ${name}`, () => {
    const { schema, empty } = useTestSchema(url);
    let started: Awaited<ReturnType<typeof start>> | undefined;
    beforeAll(async () => {
      started = await start();
    });
    afterAll(() => started?.end());

    const open = ({ now }: Pick<Clock, "now">) =>
      createOpened((): PostgresLedger => {
        if (started === undefined) throw new Error("The pool starts with the first test.");
        return createPostgresLedger({ pool: started.pool, schema, now });
      }, empty);
    const title = `in PostgreSQL by ${name}`;
    describePostgresBasics(title, open, RUNS);
    if (isFull()) describePostgresRest(title, open, RUNS);
  });
}

/** Passes WebSocket messages on to PostgreSQL as bytes, as Neon's own proxy does. */
async function startProxy(url: string): Promise<WebSocketServer> {
  const { hostname, port } = new URL(url);
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (client) => {
    const socket = connect(Number(port || 5432), hostname);
    socket.on("data", (bytes) => client.send(bytes));
    socket.on("error", () => client.close());
    socket.on("close", () => client.close());
    client.on("message", (bytes: Buffer) => socket.write(bytes));
    client.on("close", () => socket.destroy());
  });
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  neonConfig.wsProxy = () => `127.0.0.1:${address.port}/`;
  neonConfig.useSecureWebSocket = false;
  neonConfig.pipelineConnect = false;
  return server;
}
