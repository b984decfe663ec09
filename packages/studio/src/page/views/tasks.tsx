import { useState } from "preact/hooks";
import type { Session, TaskInfo, TaskList, TaskState, WebhookList } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { announce } from "../components/announcer.js";
import { ActionFailure, Code, Failure, Loading, StaleNote } from "../components/feedback.js";
import { formatCount } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, go } from "../router.js";
import { TaskTable } from "../tasks/task-table.js";
import { WebhookTable } from "../tasks/webhook-table.js";
import { RequestPanel } from "../usage/request-panel.js";
import { toApiError, useData } from "../use-data.js";

const EVERY_SECONDS = 5;
const STATES: readonly (TaskState | "")[] = ["", "queued", "in_progress", "ended"];

/** The tasks of all callers, and the messages that tell endpoints of their ends and of budgets. */
export function TasksView({
  session,
  query,
}: {
  readonly session: Session;
  readonly query: URLSearchParams;
}) {
  const messages = useMessages();
  const text = messages.tasks;
  const state = STATES.find((each) => each === query.get("state")) ?? "";
  const place = { state, request: query.get("request") ?? undefined };
  const path = state === "" ? "tasks" : `tasks?state=${state}`;
  const tasks = useData(path, (signal) => call<TaskList>(path, { signal }), EVERY_SECONDS);
  const webhooks = useData("webhooks", (signal) => call<WebhookList>("webhooks", { signal }), EVERY_SECONDS);
  const [error, setError] = useState<ApiError>();
  const isAdmin = session.role === "admin";
  const act = async (change: string, body: object, said: string): Promise<void> => {
    setError(undefined);
    try {
      await call(change, { method: "POST", body });
      announce(said);
    } catch (cause) {
      setError(toApiError(cause));
    }
    tasks.reload();
    webhooks.reload();
  };
  const cancel = ({ caller, id }: TaskInfo): void =>
    void act(`tasks/${encodeURIComponent(caller)}/${encodeURIComponent(id)}/cancel`, {}, text.cancelled(id));
  return (
    <>
      <div class="view-head">
        <h1>{messages.views.tasks}</h1>
        <div class="segments" role="group" aria-label={text.state}>
          {STATES.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === state ? "true" : "false"}
              onClick={() => go(addressOf("tasks", { ...place, state: each }))}
            >
              {text.states[each]}
              {each === "queued" && tasks.data && ` ${formatCount(tasks.data.queued, messages.language)}`}
              {each === "in_progress" &&
                tasks.data &&
                ` ${formatCount(tasks.data.inProgress, messages.language)}`}
            </button>
          ))}
        </div>
      </div>
      <div class={place.request === undefined ? "" : "with-panel"}>
        <div>
          <ActionFailure error={error} />
          {tasks.data === undefined && tasks.error === undefined && <Loading />}
          {tasks.data === undefined && tasks.error !== undefined && (
            <Failure error={tasks.error} onRetry={tasks.reload} />
          )}
          {tasks.data !== undefined && <StaleNote error={tasks.error} />}
          {tasks.data?.tasks.length === 0 && <Empty session={session} isFiltered={state !== ""} />}
          {tasks.data !== undefined && tasks.data.tasks.length > 0 && (
            <TaskTable tasks={tasks.data.tasks} query={place} onCancel={isAdmin ? cancel : undefined} />
          )}
          <section class="section">
            <h2>{text.webhooks}</h2>
            {webhooks.data === undefined && webhooks.error === undefined && <Loading />}
            {webhooks.data === undefined && webhooks.error !== undefined && tasks.error === undefined && (
              <Failure error={webhooks.error} onRetry={webhooks.reload} />
            )}
            {webhooks.data !== undefined && (
              <WebhookTable
                list={webhooks.data}
                onReplay={
                  isAdmin ? (filter) => void act("webhooks/replay", filter, text.sentAgain) : undefined
                }
                onEnable={
                  isAdmin ? (endpoint) => void act("webhooks/enable", endpoint, text.enabled) : undefined
                }
              />
            )}
          </section>
        </div>
        {place.request !== undefined && (
          <RequestPanel
            key={place.request}
            id={place.request}
            onClose={() => go(addressOf("tasks", { state }))}
          />
        )}
      </div>
    </>
  );
}

function Empty({
  session: { gatewayPath },
  isFiltered,
}: {
  readonly session: Session;
  readonly isFiltered: boolean;
}) {
  const { tasks: text } = useMessages();
  if (isFiltered) return <p class="soft">{text.noMatch}</p>;
  const request = `curl ${location.origin}${gatewayPath}/v1/images/generations -H "Prefer: respond-async" \\
  -H "Authorization: Bearer $CALOTYPE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "…", "prompt": "a fox"}'`;
  return (
    <div class="empty">
      <p>{text.empty}</p>
      <p class="soft">{text.emptyHint}</p>
      <Code code={request} label={text.emptyHint} />
    </div>
  );
}
