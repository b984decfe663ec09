import {
  CalotypeError,
  type Client,
  createIdempotencyKey,
  type Image,
  type ImageFailure,
  type ImageRequest,
  type ImagesResult,
  type Task,
  type Usage,
} from "@calotype/client";
import { CallSlot, type ImagesStorage, type StoredCall } from "./stored-call.js";

/** What a hook knows of its call. */
export interface ImagesState {
  /**
   * `idle`: there is no call. `queued`: the request was not accepted yet, or its task waits. `running`: images are being made. `done`:
   * all images are there. `failed`: there is an `error`.
   */
  readonly status: "idle" | "queued" | "running" | "done" | "failed";
  /** The images so far, in the order of their arrival. */
  readonly images: readonly Image[];
  /** The images of the batch that failed, while others came. */
  readonly failures: readonly ImageFailure[];
  /** The newest unfinished image, until the image itself has come. Only of models that send such images. */
  readonly preview: Image | undefined;
  /** What the provider reported, when the call is `done`. */
  readonly usage: Usage | undefined;
  /** Why the call failed: nearly always a `CalotypeError`. */
  readonly error: Error | undefined;
  /** The id of the task, if the call is one. */
  readonly task: string | undefined;
}

/** What a call needs. It may change with each rendering. */
export interface CallParts {
  readonly client: Client;
  /** `undefined`: the call is a stream, and ends with its component. */
  readonly storageKey: string | undefined;
  /** `undefined`: the `sessionStorage` of the page. */
  readonly storage: ImagesStorage | undefined;
}

const IDLE: ImagesState = {
  status: "idle",
  images: [],
  failures: [],
  preview: undefined,
  usage: undefined,
  error: undefined,
  task: undefined,
};

/** One run of a call: from its start to its end, or until nobody needs it any more. */
class Run {
  readonly #controller = new AbortController();
  /** Whether its task is to be cancelled when it is known. */
  isCancelled = false;
  task: string | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get hasLeft(): boolean {
    return this.signal.aborted;
  }

  leave(): void {
    this.#controller.abort();
  }
}

/**
 * The call of one hook, without React: at most one at a time. A run begins in a microtask, so that one that an effect begins and
 * its clean-up ends in the same turn, as in strict mode, sends nothing.
 */
export class ImagesCall {
  #parts: CallParts;
  #state = IDLE;
  #run: Run | undefined;
  #hasLeft = false;
  readonly #listeners = new Set<() => void>();

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  readonly getState = (): ImagesState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly start = (request: ImageRequest): void => {
    this.#begin((run) => this.#send(run, request));
  };

  readonly abort = (): void => {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    this.#slot()?.clear();
    this.#set({ ...this.#state, status: "idle" });
    run.isCancelled = true;
    run.leave();
    if (run.task !== undefined) void this.#cancel(run.task);
  };

  readonly reset = (): void => {
    this.abort();
    this.#slot()?.clear();
    this.#set(IDLE);
  };

  /** Uses the client and the storage of the newest rendering. */
  update(parts: CallParts): void {
    this.#parts = parts;
  }

  /** Finds the call again that was there before a reload. */
  mount(): void {
    this.#hasLeft = false;
    const stored = this.#slot()?.read();
    if (stored !== undefined) this.#begin((run) => this.#resume(run, stored));
  }

  /** Closes the connection. A task goes on, and so does its submission. */
  unmount(): void {
    this.#hasLeft = true;
    this.#run?.leave();
    this.#run = undefined;
    this.#set(IDLE);
  }

  #begin(work: (run: Run) => Promise<void>): void {
    if (this.#run !== undefined) return;
    const run = new Run();
    this.#run = run;
    this.#set({ ...IDLE, status: "queued" });
    queueMicrotask(() => {
      if (this.#run !== run) return;
      // It was started after its component has ended.
      if (this.#hasLeft) this.unmount();
      else void this.#finish(run, work(run));
    });
  }

  async #finish(run: Run, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#change(run, { status: "failed", error: toError(error) });
    }
    if (this.#run === run) this.#run = undefined;
  }

  async #send(run: Run, request: ImageRequest): Promise<void> {
    const slot = this.#slot();
    if (slot === undefined) return this.#stream(run, request);
    const idempotencyKey = createIdempotencyKey();
    slot.clear();
    if (!hasFile(request)) slot.write({ request, idempotencyKey, at: Date.now() });
    await this.#submit(run, { request, idempotencyKey });
  }

  async #resume(run: Run, stored: StoredCall): Promise<void> {
    if (!("task" in stored)) return this.#submit(run, stored);
    try {
      await this.#follow(run, stored.task);
    } catch (error) {
      if (!(error instanceof CalotypeError) || error.code !== "task_not_found") throw error;
      // It has expired, or another user has signed in.
      this.#slot()?.clear();
      this.#change(run, IDLE);
    }
  }

  async #stream(run: Run, request: ImageRequest): Promise<void> {
    const { client } = this.#parts;
    for await (const event of client.stream(request, { signal: run.signal })) {
      switch (event.type) {
        case "started":
          this.#change(run, { status: "running" });
          break;
        case "preview":
          this.#change(run, { preview: event.image });
          break;
        case "image":
          this.#change(run, { images: [...this.#state.images, event.image], preview: undefined });
          break;
        case "failed":
          this.#change(run, { failures: [...this.#state.failures, event.failure] });
          break;
        case "done":
          this.#change(run, { status: "done", usage: event.usage, preview: undefined });
      }
    }
  }

  /** Is not aborted with its component: the task would be made and charged, and could not be found again. */
  async #submit(
    run: Run,
    { request, idempotencyKey }: { readonly request: ImageRequest; readonly idempotencyKey: string },
  ): Promise<void> {
    const slot = this.#slot();
    // After its component, another one may have begun a call of its own.
    const isOurs = (): boolean => !run.hasLeft || slot?.holds(idempotencyKey) !== false;
    let task: Task;
    try {
      task = await this.#parts.client.tasks.submit(request, { idempotencyKey });
    } catch (error) {
      // What was refused is not submitted again. After a failed connection there may be a task, which a reload finds.
      const isUnknown = error instanceof CalotypeError && error.code === "connection_failed";
      if (!isUnknown && isOurs()) slot?.clear();
      throw error;
    }
    if (run.isCancelled) return this.#cancel(task.id);
    if (isOurs()) slot?.write({ task: task.id });
    if (task.result !== undefined) this.#complete(run, task.result);
    else if (!run.hasLeft) await this.#follow(run, task.id);
  }

  async #follow(run: Run, id: string): Promise<void> {
    const { tasks } = this.#parts.client;
    run.task = id;
    this.#change(run, { task: id });
    for await (const event of tasks.events(id, { signal: run.signal })) {
      if (event.type === "image") this.#change(run, { images: [...this.#state.images, event.image] });
      else if (event.task.status === "in_progress") this.#change(run, { status: "running" });
      // Rejects with the error of a task that did not complete.
      else if (event.task.status !== "queued") this.#complete(run, await tasks.wait(event.task));
    }
  }

  #complete(run: Run, { data, usage, extra }: ImagesResult): void {
    this.#change(run, { status: "done", images: data, failures: extra?.errors ?? [], usage });
  }

  async #cancel(task: string): Promise<void> {
    try {
      await this.#parts.client.tasks.cancel(task);
    } catch (error) {
      // It was sent to the provider, or has ended.
      if (error instanceof CalotypeError && error.code === "task_not_cancellable") return;
      if (this.#run === undefined) this.#set({ ...this.#state, status: "failed", error: toError(error) });
    }
  }

  #slot(): CallSlot | undefined {
    const { storageKey, storage } = this.#parts;
    return storageKey === undefined ? undefined : new CallSlot(storageKey, storage);
  }

  /** Changes the state, unless the run is not the hook's any more. */
  #change(run: Run, change: Partial<ImagesState>): void {
    if (this.#run === run) this.#set({ ...this.#state, ...change });
  }

  #set(state: ImagesState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function hasFile(request: ImageRequest): boolean {
  return Object.values(request)
    .flat()
    .some((value) => value instanceof Blob);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
