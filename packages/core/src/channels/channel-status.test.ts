import { describe, expect, it } from "vitest";
import type { ChannelPause, ChannelState } from "../contract/channel-state.js";
import type { AttemptFailure } from "../families/failure.js";
import { seedream } from "../families/seedream/seedream.js";
import { type Channel, createChannel } from "./channel.js";
import { findChannelStates } from "./channel-status.js";
import { type ChannelHealth, createChannelHealth } from "./health.js";
import { DEFAULT_HEALTH_POLICY } from "./health-record.js";

const START = Date.parse("2026-11-21T09:00:00Z");

/** Returns the status of a channel after attempts on it. */
function describeAfter(
  keys: readonly string[],
  attempt: (health: ChannelHealth, channel: Channel) => void,
  pause?: ChannelPause,
): ChannelState {
  const channel = createChannel({ id: "c", family: "seedream", apiKey: keys }, seedream);
  const health = createChannelHealth(() => START, DEFAULT_HEALTH_POLICY);
  attempt(health, channel);
  const [state] = findChannelStates([channel], { health, pauses: { find: () => pause } });
  return state ?? { id: "none", state: "ready" };
}

/** Reports the failure of an attempt with one of the keys. */
function fail(health: ChannelHealth, channel: Channel, index: number, failure: AttemptFailure): void {
  const key = channel.keys[index];
  if (key === undefined) throw new Error(`The channel has no key ${index}.`);
  health.begin({ channel, key, upstreamModel: "m" }, true).failed(failure);
}

const rest = (health: ChannelHealth, channel: Channel, index: number, retryAfterSeconds: number): void =>
  fail(health, channel, index, { kind: "rate", retryAfterSeconds });

const cool = (health: ChannelHealth, channel: Channel): void => rest(health, channel, 0, 60);

describe("the status of a channel", () => {
  it("has no list of keys for a channel with one key", () => {
    expect(describeAfter(["a"], () => {})).toEqual({ id: "c", state: "ready" });
    expect(describeAfter(["a"], (health, channel) => rest(health, channel, 0, 60))).toEqual({
      id: "c",
      state: "cooling",
      reason: "rate",
      since: "2026-11-21T09:00:00.000Z",
      nextTryAt: "2026-11-21T09:01:00.000Z",
    });
  });

  it("is paused whatever its health is, since the pause and until its end", () => {
    const since = "2026-11-21T08:00:00.000Z";
    const until = "2026-11-21T10:00:00.000Z";
    expect(describeAfter(["a"], cool, { since, until, by: "kim" })).toEqual({
      id: "c",
      state: "paused",
      since,
      nextTryAt: until,
      pause: { since, until, by: "kim" },
    });
    expect(describeAfter(["a", "b"], cool, { since, by: "kim" })).toEqual({
      id: "c",
      state: "paused",
      since,
      pause: { since, by: "kim" },
      keys: [
        expect.objectContaining({ index: 0, state: "cooling", reason: "rate" }),
        { index: 1, state: "ready" },
      ],
    });
  });

  it("says since when the channel works or does not work, whatever happens in between", () => {
    const clock = { now: START };
    const channel = createChannel({ id: "c", family: "seedream", apiKey: "a" }, seedream);
    const health = createChannelHealth(() => clock.now, DEFAULT_HEALTH_POLICY);
    const read = (): unknown =>
      findChannelStates([channel], { health, pauses: { find: () => undefined } })[0];
    const at = (seconds: number): void => {
      clock.now = START + seconds * 1000;
    };
    expect(read()).toEqual({ id: "c", state: "ready" });
    at(10);
    fail(health, channel, 0, { kind: "credential" });
    at(20);
    fail(health, channel, 0, { kind: "credential" });
    expect(read()).toMatchObject({ state: "cooling", since: "2026-11-21T09:00:10.000Z" });
    at(60);
    const [key] = channel.keys;
    if (key === undefined) throw new Error("The channel has no key.");
    health.begin({ channel, key, upstreamModel: "m" }, true).succeeded();
    at(90);
    expect(read()).toEqual({ id: "c", state: "ready", since: "2026-11-21T09:01:00.000Z" });
  });

  it("is ready while one of its keys is ready", () => {
    expect(describeAfter(["a", "b"], (health, channel) => rest(health, channel, 0, 60))).toEqual({
      id: "c",
      state: "ready",
      keys: [
        {
          index: 0,
          state: "cooling",
          reason: "rate",
          since: "2026-11-21T09:00:00.000Z",
          nextTryAt: "2026-11-21T09:01:00.000Z",
        },
        { index: 1, state: "ready" },
      ],
    });
  });

  it("is the status of the key that is tried next if all keys cool", () => {
    const status = describeAfter(["a", "b"], (health, channel) => {
      rest(health, channel, 0, 60);
      rest(health, channel, 1, 30);
    });
    expect(status).toMatchObject({ state: "cooling", reason: "rate", nextTryAt: "2026-11-21T09:00:30.000Z" });
    expect(status).not.toHaveProperty("index");
  });

  it("is the cooldown of the channel if no key caused it", () => {
    const status = describeAfter(["a", "b"], (health, channel) => {
      for (let failures = 0; failures < 3; failures++) {
        fail(health, channel, 0, { kind: "unreachable" });
      }
    });
    expect(status).toMatchObject({
      state: "cooling",
      reason: "unreachable",
      nextTryAt: "2026-11-21T09:00:05.000Z",
      keys: [{ state: "ready" }, { state: "ready" }],
    });
  });

  it("shows no key", () => {
    const status = describeAfter(["canary-one", "canary-two"], (health, channel) =>
      rest(health, channel, 0, 60),
    );
    expect(JSON.stringify(status)).not.toContain("canary");
  });
});
