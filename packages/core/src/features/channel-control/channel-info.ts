import type { Channel } from "../../channels/channel.js";
import type { Configured } from "../../kernel/feature.js";
import { findServed } from "../channel-probe/probe-channel.js";

/** What a channel is configured for. It has no key. */
export interface ChannelInfo {
  readonly id: string;
  readonly family: string;
  /** Absent: the family's own provider. */
  readonly dialect?: string;
  /** Channels with the highest number are tried first. */
  readonly priority: number;
  /** Its share of the traffic among channels with the same priority. */
  readonly weight: number;
  /** The service models that it serves: names, and series such as `image-edit*`. */
  readonly models: readonly string[];
  /** In the order of `apiKey`. */
  readonly keys: readonly ChannelKeyInfo[];
}

/** One of the keys of a channel, by which a person recognizes it. */
export interface ChannelKeyInfo {
  /** Its index in `apiKey`, from 0. */
  readonly index: number;
  /** The last four characters of a key that is long enough, such as `…9f3c`. Absent: too short, or a function returns it. */
  readonly hint?: string;
}

/** A key with fewer characters would be told by its last four. */
const MIN_HINTED = 16;

/** Describes what a channel is configured for. */
export function describeConfigured(
  channel: Channel,
  parts: Pick<Configured, "models" | "capabilities">,
): ChannelInfo {
  const { id, family, dialectName, priority, weight, keys } = channel;
  const { names, series } = findServed(channel, parts);
  return {
    id,
    family: family.name,
    ...(dialectName !== undefined && { dialect: dialectName }),
    priority,
    weight,
    models: [...names, ...series],
    keys: keys.map(({ index, apiKey }) => ({
      index,
      ...(apiKey !== undefined && apiKey.length >= MIN_HINTED && { hint: `…${apiKey.slice(-4)}` }),
    })),
  };
}
