import type { ChannelFacts, RecordedError } from "../../wire.js";
import { AmountCell } from "../components/amount-cell.js";
import { ListTable } from "../components/list-table.js";
import { useUnits } from "../currency.js";
import { formatSeconds, placesOf } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { type Act, ChannelActions } from "./channel-actions.js";
import { type Channel, HealthCell, TimeAgo } from "./health.js";
import { LastHour } from "./last-hour.js";

/** The facts of the channels by their ids. `undefined` until they are known. */
export type FactsById = ReadonlyMap<string, ChannelFacts> | undefined;

/**
 * One row for each channel: its state, its last hour, its times and its spend. Below are its models and keys, and each key or
 * model that cools.
 */
export function ChannelTable({
  channels,
  facts,
  chosen,
  onAct,
}: {
  readonly channels: readonly Channel[];
  readonly facts: FactsById;
  readonly chosen: string | undefined;
  /** `undefined` for those who may only look. */
  readonly onAct: Act | undefined;
}) {
  const { channels: text, usage, views } = useMessages();
  const { named, isMixed } = useUnits();
  const places = placesOf([...(facts?.values() ?? [])].map(({ day }) => day?.charge));
  const columns = onAct === undefined ? 6 : 7;
  return (
    <ListTable
      label={views.channels}
      kind="channels"
      columns={[
        text.channel,
        text.state,
        [text.lastHour, "aside"],
        [usage.inUnit(text.median, usage.secondsUnit), "number aside"],
        [usage.inUnit(usage.p95Time, usage.secondsUnit), "number aside"],
        [named(text.daySpend), "number aside"],
        onAct !== undefined && [text.actions, "unnamed aside"],
      ]}
    >
      {channels.map((channel) => {
        const own = facts?.get(channel.id);
        return (
          <tbody key={channel.id}>
            <tr class={channel.id === chosen ? "chosen" : ""}>
              <td class="wrap">
                <a href={addressOf("channels", { channel: channel.id })} onClick={followLink}>
                  {channel.id}
                </a>
                <div class="small soft family">{own === undefined ? "…" : familyOf(own)}</div>
              </td>
              <HealthCell health={channel}>
                {channel.state === "ready" && <LastError channel={channel} recorded={own?.lastError} />}
              </HealthCell>
              <td class="whole aside" data-label={text.lastHour}>
                <LastHour parts={channel.lastHour} />
              </td>
              <TimeCell label={text.median} milliseconds={own?.day?.medianMs} isKnown={own !== undefined} />
              <TimeCell label={usage.p95Time} milliseconds={own?.day?.p95Ms} isKnown={own !== undefined} />
              <AmountCell
                amount={isMixed ? undefined : own?.day?.charge}
                places={places}
                label={text.daySpend}
                isAside
              />
              {onAct !== undefined && (
                <td class="whole acts aside">
                  <ChannelActions channel={channel} onAct={onAct} class="button" />
                </td>
              )}
            </tr>
            <tr class="sub facts-row aside">
              <td colSpan={columns}>
                {/* Its place is kept until it is known. */}
                {own === undefined ? "…" : <Served facts={own} isOneKey={channel.keys === undefined} />}
              </td>
            </tr>
            {channel.keys?.map((key) => (
              <tr key={key.index} class="sub">
                <td>
                  {text.key(key.index + 1)} <KeyHint facts={own} index={key.index} />
                </td>
                <HealthCell health={key} />
                <td class="aside" colSpan={columns - 2} />
              </tr>
            ))}
            {channel.models?.map((model) => (
              <tr key={`${model.upstreamModel} ${model.key}`} class="sub">
                <td class="wrap">
                  {model.upstreamModel}
                  {model.key !== undefined && ` ${text.withKey(model.key + 1)}`}
                </td>
                <HealthCell health={model} />
                <td class="aside" colSpan={columns - 2} />
              </tr>
            ))}
          </tbody>
        );
      })}
    </ListTable>
  );
}

/** An error is shown in the row for a day. */
const SHOWN_MS = 86_400_000;

/** The last failed attempt of a channel: of this process, or in the newest records. */
function LastError({
  channel: { errors },
  recorded,
}: {
  readonly channel: Channel;
  readonly recorded: RecordedError | undefined;
}) {
  const { channels: text } = useMessages();
  const own = errors[0];
  const last = own === undefined || (recorded !== undefined && recorded.time > own.time) ? recorded : own;
  if (last === undefined || Date.parse(last.time) < Date.now() - SHOWN_MS) return null;
  const said = [last.status, last.code].filter((part) => part !== undefined).join(" ");
  return (
    <p class="small soft wrap">
      {last.requestId === undefined ? (
        text.lastError
      ) : (
        <a href={addressOf("usage", { request: last.requestId })} onClick={followLink}>
          {text.lastError}
        </a>
      )}{" "}
      {said} · <TimeAgo iso={last.time} />
    </p>
  );
}

/** The wire format, and the service if it is not the family's own. */
export function familyOf({ family, dialect }: Pick<ChannelFacts, "family" | "dialect">): string {
  return dialect === undefined ? family : `${family} · ${dialect}`;
}

function KeyHint({ facts, index }: { readonly facts: ChannelFacts | undefined; readonly index: number }) {
  const hint = facts?.keys.find((key) => key.index === index)?.hint;
  return hint === undefined ? null : <code class="soft">{hint}</code>;
}

/** What is shown of the models in the row. The panel has all of them. */
const MAX_MODELS = 6;

/** The models, the order in which channels are tried, and the key if there is one. */
function Served({ facts, isOneKey }: { readonly facts: ChannelFacts; readonly isOneKey: boolean }) {
  const { channels: text, usage } = useMessages();
  const { models, priority, weight } = facts;
  const more = models.length - MAX_MODELS;
  return (
    <dl class="served">
      <div>
        <dt>{text.models}</dt>
        <dd>
          {models.slice(0, MAX_MODELS).join(", ")}
          {more > 0 && `, ${usage.others(more)}`}
        </dd>
      </div>
      <div>
        <dt>{text.order}</dt>
        <dd>{text.priorityAndWeight(priority, weight)}</dd>
      </div>
      {isOneKey && facts.keys[0]?.hint !== undefined && (
        <div>
          <dt>{text.oneKey}</dt>
          <dd>
            <KeyHint facts={facts} index={0} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function TimeCell({
  label,
  milliseconds,
  isKnown,
}: {
  readonly label: string;
  readonly milliseconds: number | undefined;
  /** False until the facts are there. */
  readonly isKnown: boolean;
}) {
  const { usage, language } = useMessages();
  return (
    <td class="number aside" data-label={usage.inUnit(label, usage.secondsUnit)}>
      {milliseconds === undefined ? (isKnown ? "–" : "…") : formatSeconds(milliseconds, language)}
    </td>
  );
}
