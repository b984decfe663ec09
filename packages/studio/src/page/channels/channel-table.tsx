import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { type Act, ChannelActions } from "./channel-actions.js";
import { type Channel, HealthCells } from "./health.js";
import { LastHour } from "./last-hour.js";

/** One row for each channel, with a row for each of its keys, and for each model that cools on it. */
export function ChannelTable({
  channels,
  chosen,
  onAct,
}: {
  readonly channels: readonly Channel[];
  readonly chosen: string | undefined;
  /** `undefined` for those who may only look. */
  readonly onAct: Act | undefined;
}) {
  const { channels: text, views } = useMessages();
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={views.channels}>
      <table class="channels">
        <thead>
          <tr>
            <th>{text.channel}</th>
            <th>{text.state}</th>
            <th>{text.reason}</th>
            <th>{text.since}</th>
            <th>{text.nextTry}</th>
            <th>{text.lastHour}</th>
            {onAct !== undefined && (
              <th>
                <span class="hidden-text">{text.actions}</span>
              </th>
            )}
          </tr>
        </thead>
        {channels.map((channel) => (
          <tbody key={channel.id}>
            <tr class={channel.id === chosen ? "chosen" : ""}>
              <td class="wrap">
                <a href={addressOf("channels", { channel: channel.id })} onClick={followLink}>
                  {channel.id}
                </a>
              </td>
              <HealthCells health={channel} />
              <td>
                <LastHour parts={channel.lastHour} />
              </td>
              {onAct !== undefined && (
                <td>
                  <ChannelActions channel={channel} onAct={onAct} class="button plain" />
                </td>
              )}
            </tr>
            {channel.keys?.map((key) => (
              <tr key={key.index} class="sub">
                <td class="soft">{text.key(key.index + 1)}</td>
                <HealthCells health={key} />
                <td colSpan={2} />
              </tr>
            ))}
            {channel.models?.map((model) => (
              <tr key={`${model.upstreamModel} ${model.key}`} class="sub">
                <td class="soft wrap">
                  {model.upstreamModel}
                  {model.key !== undefined && ` ${text.withKey(model.key + 1)}`}
                </td>
                <HealthCells health={model} />
                <td colSpan={2} />
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}
