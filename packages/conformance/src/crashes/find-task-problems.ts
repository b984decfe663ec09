import type { UsageRecord } from "@calotype/core/billing";
import type { Task, WebhookMessage } from "@calotype/core/stores";
import { modelOf, promptOf } from "./call-server.ts";
import { countCalls, type Evidence, findProblems, listPrompts, priceOf } from "./find-problems.ts";
import type { Marks } from "./note-marks.ts";
import type { TaskLedgerContent } from "./read-ledger-file.ts";
import type { SeenTask, TaskSighting } from "./task-client.ts";
import type { Delivery } from "./webhook-receiver.ts";

/** The facts that tasks and their records are compared with. */
export interface TaskEvidence extends Evidence {
  /** What the clients of all tasks saw. */
  readonly taskSightings: readonly TaskSighting[];
  readonly marks: Marks;
  readonly deliveries: readonly Delivery[];
}

/** Returns the errors in a ledger and its tasks. All tasks must have ended, and no request may be in progress. */
export function findTaskProblems(evidence: TaskEvidence, content: TaskLedgerContent): string[] {
  const { taskSightings, marks } = evidence;
  const prompts = Map.groupBy(listPrompts(evidence), (prompt) => prompt);
  const rows = Map.groupBy(content.tasks, ({ model }) => model);
  const records = Map.groupBy(
    content.records.filter(({ task }) => task !== undefined),
    ({ model }) => model,
  );
  const judged = taskSightings.flatMap((sighting) => {
    const model = modelOf(sighting);
    const facts: TaskFacts = {
      sighting,
      rows: rows.get(model) ?? [],
      records: records.get(model) ?? [],
      received: prompts.get(promptOf(sighting))?.length ?? 0,
      isAsked: (rows.get(model) ?? []).some(({ id }) => marks.asked.has(id)),
      marks: marks.marked.filter((id) => rows.get(model)?.some((row) => row.id === id)).length,
      onLost: evidence.onLost,
    };
    return judge(facts).map((problem) => `A task ${problem}: ${JSON.stringify(facts)}`);
  });
  const asked = new Set(taskSightings.map(modelOf));
  const strangers = [...rows.keys(), ...records.keys()].filter((model) => !asked.has(model));
  return [
    ...judged,
    ...strangers.map((model) => `Nobody submitted a task: ${model}`),
    ...findProblems(evidence, content),
    ...findWrongMessages(evidence, content),
  ];
}

/** What is known about one submitted task. */
interface TaskFacts extends Pick<Evidence, "onLost"> {
  readonly sighting: TaskSighting;
  readonly rows: readonly Task[];
  readonly records: readonly UsageRecord[];
  /** How often the provider got the prompt. */
  readonly received: number;
  /** Whether a store was asked to mark the task as sent. */
  readonly isAsked: boolean;
  /** How often the task was marked as sent. */
  readonly marks: number;
}

/** Returns the errors about one task. */
function judge(facts: TaskFacts): string[] {
  const { rows, records, received } = facts;
  const [task] = rows;
  if (task === undefined) return judgeUnstored(facts);
  return [
    ...(rows.length > 1 ? ["was stored twice"] : []),
    ...(records.length > 1 ? ["has two records"] : []),
    ...(task.endedAt === undefined ? ["has not ended"] : []),
    ...(facts.marks > 1 ? ["was marked as sent twice"] : []),
    ...(received > countCalls(facts.sighting) ? ["was sent twice"] : []),
    ...(received > 0 && facts.marks === 0 && !facts.isAsked ? ["was sent without a mark"] : []),
    ...judgeSubmissions(task, facts),
    ...judgeSightings(task, facts.sighting),
    ...judgeMoney(task, facts),
  ];
}

function judgeUnstored({ sighting, records, received }: TaskFacts): string[] {
  return [
    ...(sighting.submissions.some((submission) => "id" in submission) ? ["was accepted and not stored"] : []),
    ...(received > 0 ? ["was sent and not stored"] : []),
    ...(records.length > 0 ? ["is charged and was not stored"] : []),
  ];
}

/** Each 202 must have named this task. Once it is stored, its key finds it. */
function judgeSubmissions({ id }: Task, { sighting: { submissions } }: TaskFacts): string[] {
  const last = submissions.at(-1);
  return [
    ...(submissions.some((submission) => "id" in submission && submission.id !== id)
      ? ["was accepted as another task"]
      : []),
    ...(last !== undefined && "refusal" in last ? ["was stored and refused"] : []),
  ];
}

/** `queued`, then `in_progress`, then one final state with the same result or error for ever. */
function judgeSightings(task: Task, { seen, cancelled }: TaskSighting): string[] {
  const ranks = seen.map(({ status }) => RANKS[status]);
  const isOrdered = ranks.every(
    (rank, index) => rank !== undefined && rank >= (ranks.slice(0, index).at(-1) ?? 0),
  );
  const end = toEnd(task);
  const ends = seen.filter((state) => state.end !== undefined);
  return [
    ...(isOrdered ? [] : ["went back to an earlier state"]),
    ...(ends.every((state) => state.status === end.status && state.end === end.end)
      ? []
      : ["changed after its end"]),
    ...(cancelled === 200 && task.status !== "cancelled" ? ["was cancelled and ran"] : []),
    ...(cancelled === 409 && task.status === "cancelled" ? ["was cancelled although that was refused"] : []),
    ...(cancelled === undefined || cancelled === 200 || cancelled === 409 ? [] : ["could not be cancelled"]),
  ];
}

const RANKS: Readonly<Record<string, number>> = {
  queued: 0,
  in_progress: 1,
  completed: 2,
  failed: 2,
  cancelled: 2,
};

function toEnd({ status, result, error }: Task): SeenTask {
  const json = result ?? error;
  return { status, end: json === undefined ? "null" : JSON.stringify(JSON.parse(json)) };
}

function judgeMoney(task: Task, facts: TaskFacts): string[] {
  const { received, records } = facts;
  const [record] = records;
  if (record !== undefined && (record.task !== task.id || record.id !== task.requestId)) {
    return ["has the record of another task"];
  }
  if (task.status === "cancelled") {
    return record === undefined && received === 0 && facts.marks === 0
      ? []
      : ["was cancelled, and sent or charged"];
  }
  if (task.status === "completed") return judgeCompleted(task, facts, record);
  const code = codeOf(task);
  if (code === "outcome_unknown") return judgeLost(facts, record);
  if (code === undefined || code === "internal_error") return [`failed with ${code}`];
  if (record === undefined) return received === 0 ? [] : ["was sent, failed, and left no record"];
  if (record.state !== "settled") return ["failed, and its record is not settled"];
  if (received === 0) return ["failed, was not sent, and has a record"];
  return record.charge === priceOf(record.images) ? [] : ["failed with a wrong charge"];
}

function judgeCompleted(
  task: Task,
  { received, sighting }: TaskFacts,
  record: UsageRecord | undefined,
): string[] {
  const images = [...(task.result ?? "").matchAll(/"url":"http/g)].length;
  if (images === 0 || images > sighting.n) return ["completed with a wrong number of images"];
  if (record?.state !== "settled" || record.status !== 200) return ["completed, and is not settled"];
  if (received === 0) return ["completed, and was not sent"];
  if (record.images !== images) return ["has another number of images than its record"];
  return record.charge === priceOf(images) ? [] : ["completed with a wrong charge"];
}

/** A task whose process died after it was marked as sent. */
function judgeLost({ isAsked, sighting, onLost }: TaskFacts, record: UsageRecord | undefined): string[] {
  if (!isAsked) return ["is lost, and was never about to be sent"];
  if (record?.state !== "unresolved") return ["is lost, and its record is not unresolved"];
  if (record.held !== priceOf(sighting.n)) return ["held a wrong amount"];
  return record.charge === (onLost === "charge" ? record.held : "0") ? [] : ["lost a wrong amount"];
}

/** The status of a task, and the code of its error. */
export function describeEnd(task: Task): string {
  return [task.status, codeOf(task)].filter(Boolean).join(" ");
}

function codeOf({ error }: Pick<Task, "error">): string | undefined {
  const parsed: { readonly code?: string } = JSON.parse(error ?? "{}");
  return parsed.code;
}

/** The messages that are not right: each ended task of `shop` has one, which arrived with one id and one content. */
function findWrongMessages(
  { deliveries }: Pick<TaskEvidence, "deliveries">,
  { tasks, messages }: TaskLedgerContent,
): string[] {
  const byTask = Map.groupBy(messages, ({ task }) => task);
  const byId = Map.groupBy(deliveries, ({ id }) => id);
  const known = new Set(messages.map(({ id }) => id));
  return [
    ...tasks.flatMap((task) => {
      const own = byTask.get(task.id) ?? [];
      const arrived = own.flatMap(({ id }) => byId.get(id) ?? []);
      const problem = judgeMessages(task, own, arrived);
      return problem === undefined ? [] : [`A webhook ${problem}: ${JSON.stringify({ task, own, arrived })}`];
    }),
    ...deliveries.filter(({ id }) => !known.has(id)).map(({ id }) => `A webhook belongs to no task: ${id}`),
  ];
}

function judgeMessages(
  { id, caller, status }: Task,
  messages: readonly WebhookMessage[],
  arrived: readonly Delivery[],
): string | undefined {
  if (caller !== "shop") return messages.length === 0 ? undefined : "was sent without an endpoint";
  if (messages.length !== 1) return "is missing or was written twice";
  if (messages[0]?.state !== "delivered") return "was not delivered";
  if (!arrived.some(({ isAccepted }) => isAccepted)) return "did not arrive";
  if (new Set(arrived.map(({ body }) => body)).size > 1) return "has several contents";
  const body: { type: string; data: { id: string } } = JSON.parse(arrived[0]?.body ?? "");
  return body.type === `image.task.${status}` && body.data.id === id ? undefined : "tells another end";
}
