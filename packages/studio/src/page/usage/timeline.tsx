import type { UsageRecord } from "../../wire.js";
import { formatDuration, formatTime } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";

/** One thing that happened. */
interface Step {
  readonly title: string;
  readonly time?: number | undefined;
  readonly lines: readonly string[];
}

/** What happened to a request: arrival, admission with its hold, each attempt, images, settlement. */
export function Timeline({ record }: { readonly record: UsageRecord }) {
  const messages = useMessages();
  const arrivedAt = Date.parse(record.time);
  return (
    <ol class="timeline">
      {toSteps(record, messages).map(({ title, time, lines }, index) => (
        // The steps of a record never change their order.
        // oxlint-disable-next-line react/no-array-index-key -- see above
        <li key={index}>
          <p>
            <bdi class="wrap">{title}</bdi>
            {time !== undefined && <StepTime time={time} arrivedAt={arrivedAt} />}
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

/** Within the first minute the time since the arrival is easier to read than the time of the clock, which is its title. */
const SHOWN_OFFSET_MS = 60_000;

function StepTime({ time, arrivedAt }: { readonly time: number; readonly arrivedAt: number }) {
  const { usage: text, language } = useMessages();
  const clock = formatTime(new Date(time).toISOString(), language);
  const offset = time - arrivedAt;
  if (offset > 0 && offset < SHOWN_WAIT_MS) return null;
  const isOffset = offset > 0 && offset < SHOWN_OFFSET_MS;
  return (
    <span class="small soft" title={clock}>
      {" "}
      {isOffset ? text.afterArrival(formatDuration(offset, language)) : clock}
    </span>
  );
}

function toSteps(record: UsageRecord, messages: Messages): readonly Step[] {
  const { usage: text } = messages;
  const arrivedAt = Date.parse(record.time);
  const arrival: Step = {
    title: record.task === undefined ? text.arrived : text.taskArrived,
    time: arrivedAt,
    lines: [],
  };
  if (record.state !== "settled") {
    return [arrival, toAdmission(record, undefined, messages), toUnknownEnd(record, messages)];
  }
  const attempts = record.attempts ?? [];
  return [
    arrival,
    toAdmission(record, attempts[0], messages),
    ...toAttempts(attempts, arrivedAt, messages),
    ...toImages(record, messages),
    toSettlement(record, messages),
  ];
}

type Settled = Extract<UsageRecord, { state: "settled" }>;
type RecordedAttempt = NonNullable<Settled["attempts"]>[number];

/** A wait that is shorter is not worth a line. */
const SHOWN_WAIT_MS = 50;

/** Limits and budget let the request in, the money was held, and it may have waited: for its turn, or in the queue of tasks. */
function toAdmission(
  record: UsageRecord,
  first: RecordedAttempt | undefined,
  { usage: text, language }: Messages,
): Step {
  const { held, period, task } = record;
  const waitedMs = (first?.beganAt ?? 0) - Date.parse(record.time);
  const wait = task === undefined ? text.waitedBefore : text.waitedInQueue;
  return {
    title: text.admitted,
    lines: [
      ...(typeof held === "string" ? [text.held(held)] : []),
      ...(period === undefined ? [] : [text.budgetPeriod(period)]),
      ...(waitedMs >= SHOWN_WAIT_MS ? [wait(formatDuration(waitedMs, language))] : []),
    ],
  };
}

function toAttempts(
  attempts: readonly RecordedAttempt[],
  arrivedAt: number,
  { usage: text, language }: Messages,
): readonly Step[] {
  // The wait before the first attempt is part of the admission.
  let endedAt = attempts[0]?.beganAt ?? arrivedAt;
  return attempts.map((attempt, index) => {
    const { call, channel, key, status, code, beganAt, durationMs, cooldownUntil } = attempt;
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
        ...(call === undefined ? [] : [text.upstreamCall(call + 1)]),
        ...(waitedMs >= SHOWN_WAIT_MS ? [text.waited(formatDuration(waitedMs, language))] : []),
        result,
        ...(cooldownUntil === undefined
          ? []
          : [text.cooldown(formatTime(new Date(cooldownUntil).toISOString(), language))]),
      ],
    };
  });
}

/** The response after its head: images of a stream, or a body with large images. */
function toImages(record: Settled, { usage: text, language }: Messages): readonly Step[] {
  const { images, attempts = [], durationMs, time } = record;
  if (images === 0) return [];
  const last = attempts.at(-1);
  const endedAt = Date.parse(time) + durationMs;
  const readMs = last?.beganAt === undefined ? 0 : endedAt - last.beganAt - last.durationMs;
  return [
    {
      title: text.imagesMade(images),
      time: endedAt,
      lines: readMs >= SHOWN_WAIT_MS ? [text.received(formatDuration(readMs, language))] : [],
    },
  ];
}

function toSettlement(record: Settled, { usage: text, language }: Messages): Step {
  const { durationMs, status, errorCode, charge, held } = record;
  return {
    title: text.settled,
    time: Date.parse(record.time) + durationMs,
    lines: [
      text.ended(
        [String(status), errorCode].filter((part) => part !== undefined).join(" · "),
        formatDuration(durationMs, language),
      ),
      charge === null
        ? text.notCharged
        : held === undefined
          ? text.charged(charge)
          : text.chargedOfHold(charge, held),
    ],
  };
}

function toUnknownEnd(record: Exclude<UsageRecord, Settled>, { usage: text }: Messages): Step {
  return {
    title: text[record.state],
    lines: [record.charge === null ? text.notCharged : text.charged(record.charge)],
  };
}
