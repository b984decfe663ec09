import type { TaskLedger } from "../features/task-store/task-store.js";

/** Ends a task of this caller as a worker does, so that its webhooks wait to be sent. */
export async function endTask(
  { tasks }: TaskLedger,
  { caller = "me", webhooks, result = '{"created":1,"data":[]}' }: EndedTask,
): Promise<string> {
  const id = `task_${crypto.randomUUID().replaceAll("-", "")}`;
  const requestId = `req_${id}`;
  const facts = { caller, model: "seedream", operation: "generate" } as const;
  const hold = { ...facts, id: requestId, time: "2026-01-31T12:00:00.000Z", group: "default", amount: "1" };
  await tasks.submit(
    { ...facts, id, requestId, input: "{}", webhooks, ttlMs: 3_600_000, keepMs: 30 * 86_400_000 },
    { ...hold, budget: undefined, task: id, ttlMs: 0 },
  );
  while ((await tasks.find(caller, id))?.status === "queued") {
    for (const taken of await tasks.take({ limit: 1, except: [] })) await tasks.markSent(taken.id);
  }
  await tasks.end({ id, status: "completed", result, record: undefined });
  return id;
}

interface EndedTask {
  readonly caller?: string;
  readonly webhooks: readonly string[];
  readonly result?: string;
}
