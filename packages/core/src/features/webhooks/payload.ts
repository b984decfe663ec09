import { encodeText } from "../../util/utf8.js";
import type { Task } from "../task-store/task-store.js";

/** Standard Webhooks recommends payloads of less than 20 KB. */
const MAX_PAYLOAD_BYTES = 20 * 1024;
/** A result that is not inline says where it is stored. JSON of a response is an object. */
const INLINE = /^\s*\{/;

/**
 * Writes the body of the message about the end of a task: `type`, `timestamp`, and the task as its endpoint shows it as
 * `data`. A task that has ended does not change, so each attempt sends the same bytes. A result that is too long, or that
 * the store of results keeps, is left out, and `data.result_omitted` is true.
 *
 * @param writeSummary writes a task as a JSON object without its result
 */
export function writePayload(task: Task, writeSummary: (task: Task) => string): string {
  const { result } = task;
  const head = JSON.stringify({
    type: `image.task.${task.status}`,
    timestamp: new Date(task.endedAt ?? task.createdAt).toISOString(),
  });
  const start = `${head.slice(0, -1)},"data":${writeSummary(task).slice(0, -1)}`;
  if (result === undefined) return `${start}}}`;
  const whole = INLINE.test(result) ? `${start},"result":${result}}}` : undefined;
  return whole !== undefined && isShort(whole) ? whole : `${start},"result_omitted":true}}`;
}

function isShort(payload: string): boolean {
  return payload.length <= MAX_PAYLOAD_BYTES && encodeText(payload).length <= MAX_PAYLOAD_BYTES;
}
