import { onTestFinished, vi } from "vitest";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { Task, TaskLedger } from "../features/task-store/task-store.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import type { Dependencies } from "../kernel/kernel-parts.js";
import { createTestGateway, type Provider, type ReadResponse, type TestGateway } from "./test-gateway.js";

/** The header that asks for a task. */
export const ASYNC = { prefer: "respond-async" };

/** Each image costs 0.3. */
export const BILLING = {
  model_details: {
    "*": { pricing_mode: "per-request", model_price: "0.3" },
  },
} as const satisfies GatewayOptions["billing"];

/** A gateway whose tasks a test follows in its ledger. */
export interface TaskGateway extends TestGateway {
  /** The ledger of the gateway, or the one below the test's own. */
  readonly ledger: TaskLedger;
  /** Waits until the task of a submission has ended. */
  readonly ended: (submitted: ReadResponse) => Promise<Task>;
}

/** Creates a gateway whose ledger keeps tasks in memory. It is closed at the end of the test. */
export function openTaskGateway(
  provider?: Provider,
  options: Partial<GatewayOptions> = {},
  dependencies: Partial<Dependencies> = {},
): TaskGateway {
  const ledger = createMemoryLedger();
  const opened = createTestGateway(provider, { ledger, billing: BILLING, ...options }, dependencies);
  onTestFinished(() => opened.gateway.close({ deadlineSeconds: 1 }));
  return {
    ...opened,
    ledger,
    ended: ({ body }) =>
      vi.waitFor(async () => {
        const task = await ledger.tasks.find("me", String(body["id"]));
        if (task?.endedAt === undefined) throw new Error("The task has not ended.");
        return task;
      }),
  };
}
