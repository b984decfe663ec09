import type { WebhookList, WebhookMessage } from "../../wire.js";
import { Code, Status } from "../components/feedback.js";
import { Icon } from "../components/icon.js";
import { ListTable } from "../components/list-table.js";
import { formatRelative, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";

const EXAMPLE =
  'webhooks: { endpoints: { "web-shop": { orders: { url: process.env.HOOK_URL, secrets: [process.env.HOOK_SECRET] } } } }';

const TONES = { waiting: "warn", delivered: "good", given_up: "bad" } as const satisfies Record<
  WebhookMessage["state"],
  string
>;

/** What selects the messages that are sent again. */
export type ReplayFilter = Partial<Pick<WebhookMessage, "caller" | "endpoint" | "task" | "state">>;

/** The messages to endpoints: about tasks that have ended, and alerts about budgets. */
export function WebhookTable({
  list: { messages, disabled },
  onReplay,
  onEnable,
}: {
  readonly list: WebhookList;
  /** `undefined` for those who may only look, as the next. */
  readonly onReplay: ((filter: ReplayFilter) => void) | undefined;
  readonly onEnable: ((endpoint: WebhookList["disabled"][number]) => void) | undefined;
}) {
  const { tasks: text, usage } = useMessages();
  if (messages.length === 0 && disabled.length === 0) {
    return (
      <div class="empty">
        <p class="soft">{text.noWebhooks}</p>
        <Code code={EXAMPLE} label={text.noWebhooks} />
      </div>
    );
  }
  const isGivenUp = messages.some(({ state }) => state === "given_up");
  return (
    <>
      {disabled.map((endpoint) => (
        <p key={`${endpoint.caller} ${endpoint.endpoint}`} class="notice bad">
          {text.disabled(endpoint.caller, endpoint.endpoint)}{" "}
          {onEnable !== undefined && (
            <button type="button" class="button" onClick={() => onEnable(endpoint)}>
              {text.enable}
            </button>
          )}
        </p>
      ))}
      {isGivenUp && onReplay !== undefined && (
        <p>
          <button type="button" class="button" onClick={() => onReplay({ state: "given_up" })}>
            <Icon name="refresh" />
            {text.replayAll}
          </button>
        </p>
      )}
      {messages.length > 0 && (
        <ListTable
          label={text.webhooks}
          kind="requests"
          columns={[
            text.about,
            text.state,
            usage.dimensions.caller,
            text.endpoint,
            [text.attempts, "number"],
            onReplay !== undefined && [text.actions, "unnamed"],
          ]}
        >
          <tbody>
            {messages.map((message) => (
              <Message key={message.id} message={message} onReplay={onReplay} />
            ))}
          </tbody>
        </ListTable>
      )}
    </>
  );
}

function Message({
  message: { id, task, state, caller, endpoint, attempts, nextAt, lastError },
  onReplay,
}: {
  readonly message: WebhookMessage;
  readonly onReplay: ((filter: ReplayFilter) => void) | undefined;
}) {
  const { tasks: text, channels, language } = useMessages();
  return (
    <tr>
      <td class="fixed" title={id}>
        {task === undefined ? (
          text.budgetAlert
        ) : (
          <span class="mono" title={task}>
            {shorten(task, 17)}
          </span>
        )}
      </td>
      <td class="whole" data-label={text.state}>
        <div>
          <Status tone={TONES[state]}>{text.deliveries[state]}</Status>
          {state === "waiting" && attempts > 0 && (
            <p class="small soft">
              {text.nextDelivery(
                nextAt > Date.now() ? formatRelative(new Date(nextAt).toISOString(), language) : channels.now,
              )}
            </p>
          )}
          {lastError !== undefined && state !== "delivered" && <p class="small wrap">{lastError}</p>}
        </div>
      </td>
      <td class="wrap" data-label={text.caller}>
        <bdi>{caller}</bdi>
      </td>
      <td class="wrap" data-label={text.endpoint}>
        <bdi>{endpoint}</bdi>
      </td>
      <td class="number" data-label={text.attempts}>
        {attempts}
      </td>
      {onReplay !== undefined && (
        <td class="whole">
          {task !== undefined && state !== "waiting" && (
            <button
              type="button"
              class="button"
              aria-label={text.replayTask(task, endpoint)}
              onClick={() => onReplay({ task, endpoint })}
            >
              {text.replay}
            </button>
          )}
        </td>
      )}
    </tr>
  );
}
