import { setTimeout as pause } from "node:timers/promises";
import { formatTable } from "./format-table.ts";
import { KEYS } from "./options.ts";
import type { Stage } from "./stage.ts";

/** A task, as the gateway returns it. */
interface Task {
  readonly id: string;
  readonly status: string;
  readonly result?: { readonly data: readonly { readonly url?: string }[] };
}

const PROMPTS = ["A lamp", "A kettle", "A chair"];

/** Submits tasks, kills the app while one of them runs, starts it again, and waits for the others. */
export async function showTasks(stage: Stage): Promise<void> {
  // The first image takes until after the kill.
  stage.providers.faults.add({ provider: "ark", latencyMs: 60_000, times: 1 });
  const submitted: Task[] = [];
  for (const prompt of PROMPTS) submitted.push(await submit(stage, prompt));
  const [running, ...waiting] = submitted.map(({ id }) => id);
  await readUntil(stage, running ?? "", "in_progress");
  const before = await readAll(stage, submitted);

  await stage.app.kill();
  stage.providers.faults.clear();
  await stage.restartApp();
  await Promise.all(waiting.map((id) => readUntil(stage, id, "completed")));
  const after = await readAll(stage, submitted);

  const rows = PROMPTS.map((prompt, index) => [
    prompt,
    before[index]?.status ?? "",
    after[index]?.status ?? "",
    after[index]?.result?.data.length === 1 ? "1 image" : "",
  ]);
  console.log(formatTable(["task", "before the kill", "after the restart", "result"], rows));
  console.log(
    "\n  The first one fails with outcome_unknown when the lease of the killed process is over, after 30 s.",
  );
}

async function submit({ app }: Stage, prompt: string): Promise<Task> {
  const response = await fetch(`${app.baseUrl}/images/generations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEYS.nightly}`,
      "content-type": "application/json",
      prefer: "respond-async",
    },
    body: JSON.stringify({ model: "seedream-4-5-251128", prompt, size: "2048x2048" }),
  });
  return readTask(response);
}

async function readUntil(stage: Stage, id: string, status: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await read(stage, id)).status === status) return;
    await pause(100);
  }
  throw new Error(`The task ${id} is not ${status}.`);
}

function readAll(stage: Stage, tasks: readonly Task[]): Promise<readonly Task[]> {
  return Promise.all(tasks.map(({ id }) => read(stage, id)));
}

async function read({ app }: Stage, id: string): Promise<Task> {
  const headers = { authorization: `Bearer ${KEYS.nightly}`, connection: "close" };
  return readTask(await fetch(`${app.baseUrl}/images/tasks/${id}`, { headers }));
}

async function readTask(response: Response): Promise<Task> {
  const body = await response.text();
  if (!response.ok) throw new Error(`The gateway responded with ${response.status}: ${body}`);
  const task: Task = JSON.parse(body);
  return task;
}
