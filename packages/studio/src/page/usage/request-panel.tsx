import type { UsageRecord } from "../../wire.js";
import { call } from "../api.js";
import { Derivation } from "../components/derivation.js";
import { Code, CopyButton, ErrorText, Loading } from "../components/feedback.js";
import { Panel } from "../components/panel.js";
import { formatDuration, formatTime, shorten } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { useData } from "../use-data.js";
import { OutcomeOf } from "./outcome.js";

/** A request beside the list: what happened to it, how its charge was computed, and its record. */
export function RequestPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { usage: text } = useMessages();
  const path = `requests/${encodeURIComponent(id)}`;
  const { data, error } = useData(path, () => call<UsageRecord>(path));
  return (
    <Panel
      label={text.details(id)}
      title={shorten(id)}
      fullTitle={id}
      head={<CopyButton text={id} label={text.requestId} />}
      onClose={onClose}
    >
      {data === undefined && error === undefined && <Loading />}
      {error?.status === 404 && <p role="status">{text.notRecorded}</p>}
      {error !== undefined && error.status !== 404 && <ErrorText error={error} />}
      {data !== undefined && <Details record={data} />}
    </Panel>
  );
}

function Details({ record }: { readonly record: UsageRecord }) {
  const { usage: text } = useMessages();
  const { caller, model, endUser, tags = {} } = record;
  const derivation = record.state === "settled" ? record.derivation : undefined;
  return (
    <>
      <dl class="facts">
        <dt>{text.result}</dt>
        <dd>
          <OutcomeOf record={record} />
        </dd>
        <dt>{text.charge}</dt>
        <dd>{record.charge ?? "–"}</dd>
        <dt>{text.images}</dt>
        <dd>{record.images}</dd>
        <dt>{text.dimensions.caller}</dt>
        <dd>{caller}</dd>
        <dt>{text.dimensions.model}</dt>
        <dd>{model}</dd>
        {endUser !== undefined && (
          <>
            <dt>{text.dimensions.endUser}</dt>
            <dd>{endUser}</dd>
          </>
        )}
        {Object.keys(tags).length > 0 && (
          <>
            <dt>{text.dimensions.tag}</dt>
            <dd>
              {Object.entries(tags)
                .map(([key, value]) => `${key}=${value}`)
                .join(", ")}
            </dd>
          </>
        )}
      </dl>
      <section class="section">
        <h3>{text.history}</h3>
        <Timeline record={record} />
      </section>
      {derivation !== undefined && (
        <section class="section">
          <h3>{text.howCharged}</h3>
          <Derivation derivation={derivation} />
        </section>
      )}
      <details>
        <summary>{text.raw}</summary>
        <Code code={JSON.stringify(record, null, 2)} label={text.raw} />
      </details>
    </>
  );
}

/** One thing that happened. */
interface Step {
  readonly title: string;
  readonly time?: number | undefined;
  readonly lines: readonly string[];
}

function Timeline({ record }: { readonly record: UsageRecord }) {
  const messages = useMessages();
  return (
    <ol class="timeline">
      {toSteps(record, messages).map(({ title, time, lines }, index) => (
        // The steps of a record never change their order.
        // oxlint-disable-next-line react/no-array-index-key -- see above
        <li key={index}>
          <p>
            {title}
            {time !== undefined && (
              <span class="small soft"> {formatTime(new Date(time).toISOString(), messages.language)}</span>
            )}
          </p>
          {lines.map((line) => (
            <p key={line} class="small soft wrap">
              {line}
            </p>
          ))}
        </li>
      ))}
    </ol>
  );
}

function toSteps(record: UsageRecord, messages: Messages): readonly Step[] {
  const { usage: text } = messages;
  const { held } = record;
  const arrivedAt = Date.parse(record.time);
  const arrival: Step = {
    title: text.arrived,
    time: arrivedAt,
    lines: typeof held === "string" ? [text.held(held)] : [],
  };
  if (record.state !== "settled") {
    const lines = record.charge === null ? [] : [text.charged(record.charge)];
    return [arrival, { title: text[record.state], lines }];
  }
  const { durationMs, status, errorCode, charge } = record;
  const end: Step = {
    title: text.settled,
    time: arrivedAt + durationMs,
    lines: [
      [String(status), errorCode].filter((part) => part !== undefined).join(" · "),
      charge === null ? text.notCharged : text.charged(charge),
    ],
  };
  return [arrival, ...toAttempts(record.attempts ?? [], arrivedAt, messages), end];
}

type Attempt = NonNullable<Extract<UsageRecord, { state: "settled" }>["attempts"]>[number];

/** A wait that is shorter is not worth a line. */
const SHOWN_WAIT_MS = 50;

function toAttempts(
  attempts: readonly Attempt[],
  arrivedAt: number,
  { usage: text, language }: Messages,
): readonly Step[] {
  let endedAt = arrivedAt;
  return attempts.map((attempt, index) => {
    const { channel, key, status, code, beganAt, durationMs, cooldownUntil } = attempt;
    const waitedMs = (beganAt ?? 0) - endedAt;
    endedAt = (beganAt ?? endedAt) + durationMs;
    const time = formatDuration(durationMs, language);
    const result =
      code === undefined
        ? text.attemptOk(String(status ?? "–"), time)
        : text.attemptFailed([code, status].filter((part) => part !== undefined).join(" · "), time);
    return {
      title: text.attempt(index + 1, channel, key + 1),
      time: beganAt,
      lines: [
        ...(waitedMs >= SHOWN_WAIT_MS ? [text.waited(formatDuration(waitedMs, language))] : []),
        result,
        ...(cooldownUntil === undefined
          ? []
          : [text.cooldown(formatTime(new Date(cooldownUntil).toISOString(), language))]),
      ],
    };
  });
}
