import type { ComponentChildren } from "preact";
import type { GatewayStatus } from "../../wire.js";
import { Status } from "../components/feedback.js";
import { formatRelative, formatTime } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";

/** A channel with its keys and models, its last errors and its last hour. */
export type Channel = GatewayStatus["channels"][number];

/** What channels, keys and models have in common. */
type Health = Pick<Channel, "state" | "reason" | "since" | "nextTryAt" | "pause">;

const TONES = { ready: "good", cooling: "bad", probing: "warn", paused: "none" } as const;

/** A state in words, with a color and a shape. */
export function StateOf({ health: { state } }: { readonly health: Health }) {
  const { channels: text } = useMessages();
  return <Status tone={TONES[state]}>{text.states[state]}</Status>;
}

/** Why a channel, key or model is not used. Empty if it works. */
export function reasonText({ reason, pause }: Health, { channels: text }: Messages): string {
  if (pause !== undefined) return text.pausedBy(pause.by);
  return reason === undefined ? "" : (text.reasons[reason] ?? reason);
}

/** When the next request tries it, or when its pause ends. Empty if it works. */
export function nextTryText({ state, nextTryAt }: Health, messages: Messages): string {
  const { channels: text, language } = messages;
  const isPaused = state === "paused";
  if (nextTryAt === undefined) return isPaused ? text.resumesBy(text.untilResumed) : "";
  const when = Date.parse(nextTryAt) <= Date.now() ? text.now : formatRelative(nextTryAt, language);
  return isPaused ? text.resumesBy(when) : when;
}

/** How long ago a time was. The exact time is its title. */
export function TimeAgo({ iso }: { readonly iso: string | undefined }) {
  const { language } = useMessages();
  if (iso === undefined) return null;
  return (
    <time dateTime={iso} title={formatTime(iso, language)}>
      {formatRelative(iso, language)}
    </time>
  );
}

/** The state, and below it why, since when, and the next attempt. */
export function HealthCell({
  health,
  children,
}: {
  readonly health: Health;
  /** Below. */
  readonly children?: ComponentChildren;
}) {
  const messages = useMessages();
  const { channels: text } = messages;
  const note = health.pause?.note ?? "";
  const reason = reasonText(health, messages);
  const nextTry = nextTryText(health, messages);
  return (
    <td class="health whole" data-label={text.state}>
      <div>
        <StateOf health={health} />
        {reason !== "" && <p class="wrap">{reason}</p>}
        {note !== "" && <p class="small soft wrap">{note}</p>}
        {health.state !== "ready" && health.since !== undefined && (
          <p class="small soft">
            {text.since} <TimeAgo iso={health.since} />
            {nextTry !== "" && ` · ${health.pause === undefined ? text.nextAttempt(nextTry) : nextTry}`}
          </p>
        )}
        {children}
      </div>
    </td>
  );
}
