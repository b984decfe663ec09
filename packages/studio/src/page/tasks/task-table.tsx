import type { TaskInfo } from "../../wire.js";
import { Status } from "../components/feedback.js";
import { ListTable } from "../components/list-table.js";
import { formatDuration, formatShortTime, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";

const TONES = {
  queued: "none",
  in_progress: "warn",
  completed: "good",
  failed: "bad",
  cancelled: "none",
} as const satisfies Record<TaskInfo["status"], string>;

/** What the address of the view says: which tasks are listed, and the request in the panel. */
export type TasksQuery = Readonly<Record<"state" | "request", string | undefined>>;

/** The tasks of all callers. The id leads to the request with its history, once the task has ended. */
export function TaskTable({
  tasks,
  query,
  onCancel,
}: {
  readonly tasks: readonly TaskInfo[];
  /** What the address of the view says. */
  readonly query: TasksQuery;
  /** `undefined` for those who may only look. */
  readonly onCancel: ((task: TaskInfo) => void) | undefined;
}) {
  const { tasks: text, usage, views } = useMessages();
  return (
    <ListTable
      label={views.tasks}
      kind="requests"
      columns={[
        usage.task,
        text.state,
        usage.dimensions.caller,
        [usage.dimensions.model, "near"],
        [text.submitted, "aside"],
        [text.took, "aside"],
        onCancel !== undefined && [text.actions, "unnamed"],
      ]}
    >
      <tbody>
        {tasks.map((task) => (
          <TaskRow key={task.id} task={task} query={query} onCancel={onCancel} />
        ))}
      </tbody>
    </ListTable>
  );
}

function TaskRow({
  task,
  query,
  onCancel,
}: {
  readonly task: TaskInfo;
  readonly query: TasksQuery;
  readonly onCancel: ((task: TaskInfo) => void) | undefined;
}) {
  const { tasks: text, usage, cancel, language } = useMessages();
  const { id, requestId, caller, model, status, createdAt, endedAt, errorCode } = task;
  // One that was cancelled reached no provider, and has no record.
  const hasRecord = status === "completed" || status === "failed";
  return (
    <tr class={requestId === query.request ? "chosen" : undefined}>
      <td class="fixed">
        {hasRecord ? (
          <a
            class="mono"
            title={id}
            href={addressOf("tasks", { ...query, request: requestId })}
            onClick={followLink}
          >
            {shorten(id, 17)}
          </a>
        ) : (
          <span class="mono" title={id}>
            {shorten(id, 17)}
          </span>
        )}
      </td>
      <td class="whole" data-label={text.state}>
        {errorCode === "outcome_unknown" ? (
          // Its request has the same name and color in Usage.
          <Status tone="warn">{usage.outcomes.unresolved}</Status>
        ) : (
          <Status tone={TONES[status]}>
            {text.statuses[status]}
            {errorCode !== undefined && `: ${errorCode}`}
          </Status>
        )}
      </td>
      <td class="wrap whole" data-label={usage.dimensions.caller}>
        <bdi>{caller}</bdi>
      </td>
      <td class="wrap whole near" data-label={usage.dimensions.model}>
        <bdi>{model}</bdi>
      </td>
      <td class="fixed whole aside" data-label={text.submitted} title={createdAt}>
        {formatShortTime(createdAt, language)}
      </td>
      <td class="whole aside" data-label={text.took}>
        {endedAt !== undefined && formatDuration(Date.parse(endedAt) - Date.parse(createdAt), language)}
      </td>
      {onCancel !== undefined && (
        <td class="whole">
          {status === "queued" && (
            <button
              type="button"
              class="button"
              aria-label={text.cancelTask(id)}
              onClick={() => onCancel(task)}
            >
              {cancel}
            </button>
          )}
        </td>
      )}
    </tr>
  );
}
