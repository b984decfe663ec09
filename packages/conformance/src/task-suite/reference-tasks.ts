import type {
  HoldRecord,
  LostPolicy,
  NewTask,
  Task,
  TaskEnd,
  TaskRoom,
  TaskSubmission,
  TaskSweep,
  TaskSweepOptions,
  WebhookMessage,
} from "@calotype/core/stores";
import { ReferenceLedger } from "../ledger-suite/reference-ledger.js";

interface Entry {
  readonly submitted: NewTask;
  task: Task;
  /** `taken`: a worker has it and has not sent it. */
  stage: "waiting" | "taken" | "sent" | "ended";
  readonly messages: Message[];
}

/** A message without its id, which the store chooses. */
export type Message = Pick<
  WebhookMessage,
  "task" | "caller" | "endpoint" | "state" | "attempts" | "lastError"
>;

const FOREVER_MS = 10_000 * 86_400_000;

/**
 * The simplest implementation of the rules of tasks: one array, from which every result is computed. Shares no code with the
 * stores that it is compared with. The order in which callers take turns is left to the store: the reference is told what it
 * took, and checks it.
 */
export class ReferenceTasks {
  readonly ledger = new ReferenceLedger();
  #entries: Entry[] = [];

  submit(submitted: NewTask, hold: HoldRecord, now: number): TaskSubmission {
    const { id, requestId, caller, model, operation, repeat, ttlMs } = submitted;
    const known =
      this.#find(id) ?? this.#entries.find((entry) => repeat && entry.submitted.repeat?.key === repeat.key);
    if (known !== undefined) {
      const isSame = known.submitted.repeat?.fingerprint === repeat?.fingerprint;
      return isSame && known.task.caller === caller
        ? { kind: "repeated", task: known.task }
        : { kind: "conflict" };
    }
    const { own, others } = this.#countOpen(caller);
    const isRoom = (["tasks", "bytes"] as const).every((unit) => {
      const left = (submitted.room?.[unit] ?? Number.POSITIVE_INFINITY) - others[unit];
      const wanted = own[unit] + sizeOf(submitted)[unit];
      return wanted <= (own[unit] === 0 ? left : left / 2);
    });
    if (!isRoom) return { kind: "full", isShareUsed: own.tasks > 0 };
    const held = this.ledger.hold({ ...hold, ttlMs: FOREVER_MS }, now);
    if (!held.ok) return { kind: "refused", balance: held.balance };
    const times = { createdAt: now, expiresAt: now + ttlMs };
    const facts = { id, requestId, caller, model, operation };
    const task: Task = { ...facts, ...times, status: "queued", images: [] };
    this.#entries.push({ submitted, task, stage: "waiting", messages: [] });
    return { kind: "submitted", task };
  }

  /** The ids that could be taken now: for each caller in order. */
  takeable(now: number, except: readonly string[]): ReadonlyMap<string, readonly string[]> {
    const waiting = this.#entries.filter(
      ({ stage, task }) => stage === "waiting" && task.expiresAt > now && !except.includes(task.caller),
    );
    const callers = new Set(waiting.map(({ task }) => task.caller));
    const idsOf = (caller: string): string[] =>
      waiting.filter(({ task }) => task.caller === caller).map(({ task }) => task.id);
    return new Map([...callers].map((caller) => [caller, idsOf(caller)]));
  }

  taken(ids: readonly string[]): void {
    for (const id of ids) this.#change(id, "waiting", (entry) => void (entry.stage = "taken"));
  }

  markSent(id: string): boolean {
    return this.#change(id, "taken", (entry) => {
      entry.stage = "sent";
      entry.task = { ...entry.task, status: "in_progress" };
    });
  }

  putBack(ids: readonly string[]): void {
    for (const id of ids) this.#change(id, "taken", (entry) => void (entry.stage = "waiting"));
  }

  addImages(id: string, images: readonly string[]): void {
    this.#change(id, "sent", (entry) => {
      entry.task = { ...entry.task, images: [...entry.task.images, ...images] };
    });
  }

  end({ id, status, result, error, record }: TaskEnd, now: number): void {
    const entry = this.#find(id);
    const isLeftAlone = record === undefined && entry?.stage === "waiting";
    if (isLeftAlone) return;
    if (record !== undefined) this.ledger.settle(record);
    else if (entry !== undefined) this.ledger.release(entry.task.requestId);
    if (entry !== undefined && entry.stage !== "ended") finish(entry, { status, result, error }, now);
  }

  cancel(caller: string, id: string, now: number): { task: Task; input?: string } | undefined {
    const entry = this.#find(id);
    if (entry === undefined || entry.task.caller !== caller) return undefined;
    if (entry.stage === "sent" || entry.stage === "ended") return { task: entry.task };
    this.ledger.release(entry.task.requestId);
    finish(entry, { status: "cancelled" }, now);
    return { task: entry.task, input: entry.submitted.input };
  }

  sweep({ onLost, own = false, lostError, expiredError }: TaskSweepOptions, now: number): TaskSweep {
    const inputs: string[] = [];
    const lost = this.#entries.filter(({ stage }) => own && stage === "sent");
    const records = this.#lose(lost, onLost);
    for (const entry of lost) {
      finish(entry, { status: "failed", error: lostError }, now);
      inputs.push(entry.submitted.input);
    }
    for (const entry of this.#entries) if (own && entry.stage === "taken") entry.stage = "waiting";
    for (const entry of this.#entries) {
      if (entry.task.status !== "queued" || now < entry.task.expiresAt) continue;
      this.ledger.release(entry.task.requestId);
      finish(entry, { status: "failed", error: expiredError }, now);
      inputs.push(entry.submitted.input);
    }
    this.#entries = this.#entries.filter(({ task, submitted, messages }) => {
      if (task.endedAt === undefined || now < task.endedAt + submitted.keepMs) return true;
      return messages.some(({ state }) => state === "waiting");
    });
    return { lost: records, inputs };
  }

  /** Records that an attempt for this endpoint ended. */
  deliver(task: string, endpoint: string, state: "delivered" | "given_up"): void {
    const entry = this.#find(task);
    const at = entry?.messages.findIndex((message) => message.endpoint === endpoint) ?? -1;
    const message = entry?.messages[at];
    if (entry === undefined || message === undefined || message.state === "delivered") return;
    if (message.state === "given_up" && state === "given_up") return;
    const { lastError: _, ...rest } = message;
    const error = state === "given_up" && { lastError: "no" };
    entry.messages[at] = { ...rest, state, attempts: message.attempts + 1, ...error };
  }

  find(caller: string, id: string): Task | undefined {
    const task = this.#find(id)?.task;
    return task?.caller === caller ? task : undefined;
  }

  list(caller: string): Task[] {
    return this.#entries
      .map(({ task }) => task)
      .filter((task) => task.caller === caller)
      .toReversed();
  }

  messages(): Message[] {
    return this.#entries.flatMap(({ messages }) => messages);
  }

  /** The room that the open tasks of a caller take, and that those of the others take. */
  #countOpen(caller: string): { readonly own: TaskRoom; readonly others: TaskRoom } {
    const open = this.#entries.filter(({ stage }) => stage !== "ended");
    const sum = (isOwn: boolean): TaskRoom => {
      const sizes = open
        .filter(({ task }) => (task.caller === caller) === isOwn)
        .map(({ submitted }) => sizeOf(submitted));
      return {
        tasks: sizes.length,
        bytes: sizes.reduce((total, { bytes }) => total + bytes, 0),
      };
    };
    return { own: sum(true), others: sum(false) };
  }

  #find(id: string): Entry | undefined {
    return this.#entries.find(({ task }) => task.id === id);
  }

  #change(id: string, stage: Entry["stage"], change: (entry: Entry) => void): boolean {
    const entry = this.#find(id);
    if (entry?.stage !== stage) return false;
    change(entry);
    return true;
  }

  /** The holds of the other tasks, which must not be swept, are left out of the sweep. */
  #lose(lost: readonly Entry[], onLost: LostPolicy): TaskSweep["lost"] {
    return this.ledger.sweepOnly(
      lost.map(({ task }) => task.requestId),
      onLost,
    );
  }
}

const sizeOf = ({ input }: NewTask): TaskRoom => ({ tasks: 1, bytes: Buffer.byteLength(input) });

function finish(
  entry: Entry,
  end: Pick<TaskEnd, "result" | "error"> & { status: Task["status"] },
  now: number,
): void {
  const { id, caller } = entry.task;
  entry.task = { ...entry.task, ...end, endedAt: now, images: [] };
  entry.stage = "ended";
  for (const endpoint of new Set(entry.submitted.webhooks)) {
    entry.messages.push({ task: id, caller, endpoint, state: "waiting", attempts: 0 });
  }
}
