import type { Task, TaskChange, TaskStore } from "../features/task-store/task-store.js";

/** A task store whose tasks the test changes. It has what the endpoints of tasks call; the rest rejects. */
export interface TestTaskStore {
  readonly store: TaskStore;
  /** Adds or replaces a task, and tells the watchers unless `isSilent`. */
  put(task: Task, isSilent?: boolean): void;
  remove(id: string): void;
  /** Tells a change without making one. */
  tell(change: TaskChange): void;
  /** How often each method was called. */
  readonly calls: { find: number; list: number; cancel: number };
  /** The number of open watches. */
  readonly watches: () => number;
  /** Replaces `find`: a failing or a slow store. `undefined` ends this. */
  interfere(find: TaskStore["find"] | undefined): void;
}

export function createTaskStore(...tasks: readonly Task[]): TestTaskStore {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const listeners = new Set<(change: TaskChange) => void>();
  const calls = { find: 0, list: 0, cancel: 0 };
  let interference: TaskStore["find"] | undefined;

  const tell = (change: TaskChange): void => {
    for (const listener of listeners) listener(change);
  };
  const put = (task: Task, isSilent = false): void => {
    byId.set(task.id, task);
    if (!isSilent) tell({ kind: "changed", id: task.id });
  };
  const findOwn = (caller: string, id: string): Task | undefined => {
    const task = byId.get(id);
    return task?.caller === caller ? task : undefined;
  };
  const store: TaskStore = {
    async find(caller, id) {
      calls.find++;
      return interference ? interference(caller, id) : findOwn(caller, id);
    },
    async list(caller, { limit, after }) {
      calls.list++;
      const own = [...byId.values()].filter((task) => task.caller === caller).toReversed();
      const start = after === undefined ? 0 : own.findIndex(({ id }) => id === after) + 1;
      return after !== undefined && start === 0 ? [] : own.slice(start, start + limit);
    },
    async cancel(caller, id) {
      calls.cancel++;
      const task = findOwn(caller, id);
      if (task?.status !== "queued") return task && { task };
      const cancelled: Task = { ...task, status: "cancelled", endedAt: task.createdAt + 1_000 };
      put(cancelled);
      return { task: cancelled, input: `input of ${id}` };
    },
    watch(listener) {
      const own = (change: TaskChange): void => listener(change);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    submit: unused,
    take: async () => [],
    markSent: unused,
    putBack: unused,
    addImages: unused,
    end: unused,
    sweep: async () => ({ lost: [], inputs: [] }),
  };
  return {
    store,
    put,
    remove: (id) => void byId.delete(id),
    tell,
    calls,
    watches: () => listeners.size,
    interfere: (find) => {
      interference = find;
    },
  };
}

function unused(): Promise<never> {
  return Promise.reject(new Error("The endpoints do not call this."));
}
