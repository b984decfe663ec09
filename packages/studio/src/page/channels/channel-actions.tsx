import { Icon } from "../components/icon.js";
import { useMessages } from "../messages/index.js";
import type { Channel } from "./health.js";

/** What an admin can do with a channel. Each opens a dialog that says what will happen. */
export type ChannelAction = "pause" | "resume" | "probe";

/** Called when a person wants to do something with a channel. */
export type Act = (action: ChannelAction, channel: Channel) => void;

/** The buttons of a channel. */
export function ChannelActions({
  channel,
  onAct,
  class: className,
}: {
  readonly channel: Channel;
  readonly onAct: Act;
  /** The class of each button. */
  readonly class: string;
}) {
  const { channels: text } = useMessages();
  const isPaused = channel.state === "paused";
  return (
    <span class="channel-actions">
      <button
        type="button"
        class={className}
        aria-label={isPaused ? text.resumeTitle(channel.id) : text.pauseTitle(channel.id)}
        onClick={() => onAct(isPaused ? "resume" : "pause", channel)}
      >
        <Icon name={isPaused ? "resume" : "paused"} />
        {isPaused ? text.resume : text.pause}
      </button>
      <button
        type="button"
        class={className}
        aria-label={text.probeTitle(channel.id)}
        onClick={() => onAct("probe", channel)}
      >
        <Icon name="probe" />
        {text.probe}
      </button>
    </span>
  );
}
