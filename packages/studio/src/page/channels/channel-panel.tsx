import type { ChannelError, ChannelFacts, RecordedError, RecordedErrors } from "../../wire.js";
import { call } from "../api.js";
import { Loading, StaleNote, Status } from "../components/feedback.js";
import { Panel } from "../components/panel.js";
import { useUnits } from "../currency.js";
import { formatAmount, formatCount, formatDuration, formatTime } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { useData } from "../use-data.js";
import { addressOfChannel } from "./address.js";
import { type Act, ChannelActions } from "./channel-actions.js";
import { familyOf } from "./channel-table.js";
import { type Channel, nextTryText, reasonText, StateOf, TimeAgo } from "./health.js";
import { LastHour, LastHourTable } from "./last-hour.js";

/** A channel beside the list: since when and why it does not work, its last hour, and its last errors with their requests. */
export function ChannelPanel({
  channel,
  facts,
  onAct,
  onClose,
}: {
  readonly channel: Channel;
  /** `undefined` until they are known. */
  readonly facts: ChannelFacts | undefined;
  /** `undefined` for those who may only look. */
  readonly onAct: Act | undefined;
  readonly onClose: () => void;
}) {
  const messages = useMessages();
  const { channels: text, language } = messages;
  const { id, since, pause, errors, lastHour } = channel;
  const reason = reasonText(channel, messages);
  const nextTry = nextTryText(channel, messages);
  return (
    <Panel label={text.details(id)} title={id} onClose={onClose}>
      <dl class="facts">
        <dt>{text.state}</dt>
        <dd>
          <StateOf health={channel} />
        </dd>
        {reason !== "" && (
          <>
            <dt>{text.reason}</dt>
            <dd>{reason}</dd>
          </>
        )}
        {pause?.note !== undefined && pause.note !== "" && (
          <>
            <dt>{text.note}</dt>
            <dd>{pause.note}</dd>
          </>
        )}
        {since !== undefined && (
          <>
            <dt>{text.since}</dt>
            <dd>
              {formatTime(since, language)} (<TimeAgo iso={since} />)
            </dd>
          </>
        )}
        {nextTry !== "" && (
          <>
            <dt>{text.nextTry}</dt>
            <dd>{nextTry}</dd>
          </>
        )}
        {facts !== undefined && <ConfiguredFacts facts={facts} />}
      </dl>
      {onAct !== undefined && <ChannelActions channel={channel} onAct={onAct} class="button" />}
      <section>
        <h3>{text.lastHour}</h3>
        <LastHour parts={lastHour} />
        <p class="small soft">{text.lastHourHint}</p>
        <LastHourTable parts={lastHour} />
      </section>
      <section>
        <h3>{text.errors}</h3>
        <Errors id={id} errors={errors} />
        <p>
          <a href={addressOf("usage", { channel: id, outcomes: "failed" })} onClick={followLink}>
            {text.failedRequests}
          </a>
        </p>
      </section>
    </Panel>
  );
}

/** What the channel is configured for. */
function ConfiguredFacts({ facts }: { readonly facts: ChannelFacts }) {
  const { channels: text, usage, language } = useMessages();
  const { isMixed, named } = useUnits();
  const { models, priority, weight, keys, day } = facts;
  return (
    <>
      <dt>{text.family}</dt>
      <dd>{familyOf(facts)}</dd>
      <dt>{text.order}</dt>
      <dd>{text.priorityAndWeight(priority, weight)}</dd>
      <dt>{text.models}</dt>
      <dd>{models.join(", ")}</dd>
      <dt>{text.keys}</dt>
      <dd>
        {keys.map(({ index, hint }) => (
          <div key={index}>
            {text.key(index + 1)} {hint !== undefined && <code>{hint}</code>}
          </div>
        ))}
      </dd>
      {day !== undefined && (
        <>
          <dt>{text.day}</dt>
          <dd>
            {usage.requestCount(formatCount(day.requests, language))} ·{" "}
            {usage.imageCount(formatCount(day.images, language))}
          </dd>
          {day.medianMs !== undefined && day.p95Ms !== undefined && (
            <>
              <dt>{usage.duration}</dt>
              <dd>
                {usage.timePoint(formatDuration(day.medianMs, language), formatDuration(day.p95Ms, language))}
              </dd>
            </>
          )}
          {!isMixed && (
            <>
              <dt>{named(usage.spend)}</dt>
              <dd>{formatAmount(day.charge)}</dd>
            </>
          )}
        </>
      )}
    </>
  );
}

/** The last errors: those of this process with the provider's words, and those of the records, which outlive a process. */
function Errors({ id, errors }: { readonly id: string; readonly errors: readonly ChannelError[] }) {
  const { channels: text } = useMessages();
  const path = addressOfChannel(id, "errors");
  const recorded = useData(`${path} ${errors[0]?.time}`, (signal) => call<RecordedErrors>(path, { signal }));
  const known = new Set(errors.map(({ requestId }) => requestId));
  const others = recorded.data?.errors.filter(({ requestId }) => !known.has(requestId)) ?? [];
  const shown: readonly ShownError[] = [...errors, ...others].toSorted((one, other) =>
    one.time < other.time ? 1 : -1,
  );
  if (recorded.data === undefined && recorded.error === undefined && shown.length === 0) return <Loading />;
  return (
    <>
      <p class="small soft">{shown.length === 0 ? text.noErrors : text.errorsHint}</p>
      <StaleNote error={recorded.error} />
      {shown.length > 0 && (
        <ol class="channel-errors">
          {shown.map((error) => (
            <ErrorItem key={`${error.time} ${error.requestId}`} error={error} />
          ))}
        </ol>
      )}
    </>
  );
}

type ShownError = RecordedError | ChannelError;

function ErrorItem({ error }: { readonly error: ShownError }) {
  const { channels: text, language } = useMessages();
  const { time, status, code, upstreamModel, key, requestId } = error;
  const { kind = code ?? "", message } = "kind" in error ? error : {};
  const said = [status, code].filter((part) => part !== undefined).join(" ");
  return (
    <li>
      <Status tone="bad">{text.reasons[kind] ?? kind}</Status>
      <p class="small soft">
        {formatTime(time, language)}, {upstreamModel}
        {key !== undefined && ` ${text.withKey(key + 1)}`}
      </p>
      {(said !== "" || message !== undefined) && (
        <p class="wrap">
          {said !== "" && <code>{said}</code>} {message}
        </p>
      )}
      {requestId === undefined ? (
        <p class="small soft">{text.ofProbe}</p>
      ) : (
        <p>
          <a href={addressOf("usage", { request: requestId })} onClick={followLink}>
            {text.openRequest}
          </a>
        </p>
      )}
    </li>
  );
}
