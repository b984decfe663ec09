import type { ErrorEnvelope } from "../../responses/envelope.js";
import { HEARTBEAT } from "../../responses/sse.js";
import { toOneLine } from "../../util/one-line.js";
import { encodeText } from "../../util/utf8.js";
import { wrapBytes } from "../../util/wrap-bytes.js";
import type { Task } from "../task-store/task-store.js";
import { hasEnded, type TaskResult, writeTask, writeTaskSummary } from "./task-object.js";
import type { FollowedTask } from "./task-watch.js";

/** What the events of a task need. */
export interface TaskEventsOptions {
  /** Returns the result of a completed task. */
  readonly openResult: (task: Task) => Promise<TaskResult | undefined>;
  /** Converts, and logs, the error of a result that cannot be opened. */
  readonly toEnvelope: (error: unknown) => ErrorEnvelope;
}

const HEARTBEAT_MS = 15_000;
/** After this time the stream ends, and the client begins a new one. */
const MAX_MS = 600_000;
/** How long a client waits before it begins a new stream. `EventSource` obeys this field (HTML, section 9.2). */
const RETRY = "retry: 1000\n";

const DONE: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

/**
 * The body of a stream of a task's events. It begins with the current state. A client that reads slowly misses states, but
 * no image of a task that runs, and not the end.
 *
 * @param followed ends with the body
 */
export function createTaskEvents(
  followed: FollowedTask,
  options: TaskEventsOptions,
): AsyncIterableIterator<Uint8Array, undefined> {
  const stream = new TaskStream(followed, options);
  const events = stream.write();
  const body: AsyncIterableIterator<Uint8Array, undefined> = {
    [Symbol.asyncIterator]: () => body,
    async next() {
      const { done, value } = await events.next();
      return done === true ? DONE : { done: false, value };
    },
    /** Does not wait for a pending read, which `leave` ends. */
    async return() {
      stream.leave();
      void events.return();
      return DONE;
    },
  };
  return body;
}

/** Writes the events while they are read. */
class TaskStream {
  readonly #followed: FollowedTask;
  readonly #options: TaskEventsOptions;
  /** The result while it is sent, if it is bytes. */
  #result: AsyncIterableIterator<Uint8Array, undefined> | undefined;
  #hasLeft = false;

  constructor(followed: FollowedTask, options: TaskEventsOptions) {
    this.#followed = followed;
    this.#options = options;
  }

  /** The client has disconnected. */
  leave(): void {
    this.#hasLeft = true;
    this.#followed.end();
    void this.#result?.return?.().catch(() => undefined);
  }

  async *write(): AsyncGenerator<Uint8Array, void> {
    try {
      yield* this.#follow();
    } finally {
      this.#followed.end();
    }
  }

  async *#follow(): AsyncGenerator<Uint8Array, void> {
    const followed = this.#followed;
    const endsAt = performance.now() + MAX_MS;
    let prefix = RETRY;
    let status: Task["status"] | undefined;
    let images = 0;
    for (;;) {
      const { task } = followed;
      if (hasEnded(task)) return yield* this.#writeEnd(task, prefix);
      if (task.status !== status)
        yield encodeText(`${prefix}${writeEvent("status", writeTaskSummary(task))}`);
      prefix = "";
      status = task.status;
      for (const image of task.images.slice(images)) yield encodeText(writeImage(task.id, images++, image));
      const leftMs = endsAt - performance.now();
      if (followed.isOver || leftMs <= 0) return yield* this.#writeBreak();
      await followed.waitForChange(Math.min(HEARTBEAT_MS, leftMs));
      if (followed.task === task && !followed.isOver) yield encodeText(HEARTBEAT);
    }
  }

  /** Tells a client that stays connected that the stream ends before the task does. */
  *#writeBreak(): Generator<Uint8Array, void> {
    const { task } = this.#followed;
    if (!this.#hasLeft) yield encodeText(writeEvent("reconnect", writeTaskSummary(task)));
  }

  async *#writeEnd(task: Task, prefix: string): AsyncGenerator<Uint8Array, void> {
    let object: TaskResult;
    try {
      object = writeTask(task, await this.#options.openResult(task));
    } catch (error) {
      const envelope = JSON.stringify(this.#options.toEnvelope(error));
      return yield encodeText(`${prefix}${writeEvent("error", envelope)}`);
    }
    if (typeof object === "string") return yield encodeText(`${prefix}${writeEvent("status", object)}`);
    const before = `${prefix}event: status\ndata: `;
    this.#result = wrapBytes(object, { before, after: "\n\n", convert: toOneLine });
    // The client may have left while the result was opened.
    if (this.#hasLeft) this.leave();
    yield* this.#result;
  }
}

/** Writes an event. Line ends in JSON are white space, and would end its data. */
function writeEvent(event: string, json: string): string {
  return `event: ${event}\ndata: ${json.replaceAll(/[\r\n]/g, " ")}\n\n`;
}

function writeImage(id: string, index: number, image: string): string {
  return writeEvent("image", `{"task_id":${JSON.stringify(id)},"index":${index},"image":${image}}`);
}
