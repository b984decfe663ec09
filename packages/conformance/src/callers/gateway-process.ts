import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createGateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";

/** The ledger of a gateway process. */
export type LedgerPlan =
  | { readonly kind: "sqlite"; readonly path: string }
  /** @property connections with one connection, the process gets no notifications */
  | {
      readonly kind: "postgres";
      readonly url: string;
      readonly schema: string;
      readonly connections: number;
    };

/* A gateway in a process of its own. It reads its plan from standard input, and knows stored callers only. */
const plan: LedgerPlan = JSON.parse(await text(process.stdin));
const ledger =
  plan.kind === "sqlite"
    ? createSqliteLedger({ path: plan.path })
    : createPostgresLedger({
        pool: new Pool({ connectionString: plan.url, max: plan.connections }),
        schema: plan.schema,
      });
const gateway = createGateway({
  models: { "image-max": { family: "qwen-image" }, "image-plus": { family: "qwen-image" } },
  channels: [{ id: "none", family: "qwen-image", apiKey: "none", baseUrl: "http://127.0.0.1:1" }],
  callers: [],
  ledger,
});
const server = createServer(toNodeHandler(gateway)).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.stdout.write(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}\n`);
