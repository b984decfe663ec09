import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import { type Channel, createChannel } from "./channel.js";
import { DEFAULT_HEALTH_POLICY } from "./cooldown.js";
import { type ChannelHealth, createChannelHealth } from "./health.js";
import { type ChannelStatus, describeChannels } from "./status.js";

const START = Date.parse("2026-11-21T09:00:00Z");

/** A channel, and what was told of its keys (by their places) and of itself. */
function describeAfter(
  keys: readonly string[],
  tell: (health: ChannelHealth, channel: Channel) => void,
): ChannelStatus {
  const channel = createChannel({ id: "c", family: "seedream", apiKey: keys }, seedream);
  const health = createChannelHealth(() => START, DEFAULT_HEALTH_POLICY);
  tell(health, channel);
  const [status] = describeChannels([channel], health);
  return status ?? { id: "none", state: "ready" };
}

const rest = (health: ChannelHealth, channel: Channel, index: number, retryAfterSeconds: number): void => {
  health.begin(channel.keys[index]?.healthId ?? "").failed({ kind: "rate", retryAfterSeconds });
};

describe("the status of a channel", () => {
  it("with one key is short", () => {
    expect(describeAfter(["a"], () => {})).toEqual({ id: "c", state: "ready" });
    expect(describeAfter(["a"], (health, channel) => rest(health, channel, 0, 60))).toEqual({
      id: "c",
      state: "cooling",
      reason: "rate",
      nextTryAt: "2026-11-21T09:01:00.000Z",
    });
  });

  it("is ready while one of its keys is", () => {
    expect(describeAfter(["a", "b"], (health, channel) => rest(health, channel, 0, 60))).toEqual({
      id: "c",
      state: "ready",
      keys: [
        { index: 0, state: "cooling", reason: "rate", nextTryAt: "2026-11-21T09:01:00.000Z" },
        { index: 1, state: "ready" },
      ],
    });
  });

  it("is that of the key that is tried next when all of them cool", () => {
    const status = describeAfter(["a", "b"], (health, channel) => {
      rest(health, channel, 0, 60);
      rest(health, channel, 1, 30);
    });
    expect(status).toMatchObject({ state: "cooling", reason: "rate", nextTryAt: "2026-11-21T09:00:30.000Z" });
    expect(status).not.toHaveProperty("index");
  });

  it("is its own when none of its keys is to blame", () => {
    const status = describeAfter(["a", "b"], (health, channel) => {
      for (let failures = 0; failures < 3; failures++) {
        health.begin(channel.healthId).failed({ kind: "unreachable" });
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
