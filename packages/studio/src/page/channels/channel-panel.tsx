import type { ChannelError } from "../../wire.js";
import { Status } from "../components/feedback.js";
import { Panel } from "../components/panel.js";
import { formatTime } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { type Act, ChannelActions } from "./channel-actions.js";
import { type Channel, nextTryText, reasonText, StateOf, TimeAgo } from "./health.js";
import { LastHour, LastHourTable } from "./last-hour.js";

/** A channel beside the list: since when and why it does not work, its last hour, and its last errors with their requests. */
export function ChannelPanel({
  channel,
  onAct,
  onClose,
}: {
  readonly channel: Channel;
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
        <p class="small soft">{errors.length === 0 ? text.noErrors : text.errorsHint}</p>
        {errors.length > 0 && (
          <ol class="channel-errors">
            {errors.map((error) => (
              <ErrorItem key={`${error.time} ${error.requestId}`} error={error} />
            ))}
          </ol>
        )}
        <p>
          <a href={addressOf("usage", { channel: id, outcomes: "failed" })} onClick={followLink}>
            {text.failedRequests}
          </a>
        </p>
      </section>
    </Panel>
  );
}

function ErrorItem({ error }: { readonly error: ChannelError }) {
  const { channels: text, language } = useMessages();
  const { time, kind, status, code, message, upstreamModel, key, requestId } = error;
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
