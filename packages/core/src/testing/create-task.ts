import type { Task } from "../features/task-store/task-store.js";

/** A task that waits for a worker, with the given members in place of the defaults. */
export function createTask(members: Partial<Task> = {}): Task {
  return {
    id: `task_${"0".repeat(32)}`,
    requestId: "req_1",
    caller: "me",
    model: "image-max",
    operation: "generate",
    status: "queued",
    createdAt: 1_800_000_000_999,
    expiresAt: 1_800_086_400_999,
    images: [],
    ...members,
  };
}
