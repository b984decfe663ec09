import { openSync, readFileSync, writeSync } from "node:fs";
import type { TaskStore } from "@calotype/core/stores";

/**
 * Wraps a task store so that it notes in a file which tasks it was asked to mark as sent, and which it marked. A process that
 * is killed leaves what it wrote.
 *
 * @param path Default: nothing is noted
 */
export function noteMarks(tasks: TaskStore, path: string | undefined): TaskStore {
  if (path === undefined) return tasks;
  const file = openSync(path, "a");
  return {
    ...tasks,
    async markSent(id) {
      writeSync(file, `asked ${id}\n`);
      const isSent = await tasks.markSent(id);
      if (isSent) writeSync(file, `marked ${id}\n`);
      return isSent;
    },
  };
}

/** The notes of all processes. */
export interface Marks {
  /** The tasks that a store was asked to mark. */
  readonly asked: ReadonlySet<string>;
  /** Each task as often as it was marked. */
  readonly marked: readonly string[];
}

/** Reads what {@link noteMarks} wrote. */
export function readMarks(path: string): Marks {
  const lines = readFileSync(path, "utf8").split("\n");
  const idsOf = (kind: string): string[] =>
    lines.flatMap((line) => (line.startsWith(`${kind} `) ? line.slice(kind.length + 1) : []));
  return { asked: new Set(idsOf("asked")), marked: idsOf("marked") };
}
