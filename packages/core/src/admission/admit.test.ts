import { describe, expect, it } from "vitest";
import { createMemoryLedger } from "../billing/memory-ledger.js";
import type { ChannelOptions } from "../channels/channel.js";
import { createTestGateway } from "../testing/test-gateway.js";

const NOW = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const SLOW = { connectMs: 1_000, firstByteMs: DAY_MS, idleMs: 2_000 };

/** For how long the hold of a request to these channels is kept. */
async function findLeaseMs(channels: readonly Partial<ChannelOptions>[]): Promise<number> {
  const lifetimes: number[] = [];
  const own = createMemoryLedger();
  const { post } = createTestGateway(
    undefined,
    {
      models: { doodle: { family: "seedream" } },
      channels: channels.map((channel, index) => ({
        id: `c${index}`,
        family: "seedream",
        apiKey: "k",
        ...channel,
      })),
      ledger: {
        ...own,
        hold: (hold) => {
          expect(hold.expiresAt).toBe(NOW + hold.ttlMs);
          lifetimes.push(hold.ttlMs);
          return own.hold(hold);
        },
      },
    },
    { now: () => NOW },
  );
  expect((await post({ model: "doodle", prompt: "x" })).status).toBe(200);
  return lifetimes[0] ?? 0;
}

describe("a hold", () => {
  it.each<[string, readonly Partial<ChannelOptions>[], number]>([
    ["a channel's timeouts together", [{}], 1_210_000],
    ["those of the slowest channel", [{}, { timeouts: SLOW }], DAY_MS + 3_000],
    [
      "those of all that are tried after a timeout",
      [1, 2, 3].map(() => ({ timeouts: SLOW, retryUnsafe: true })),
      3 * DAY_MS,
    ],
  ])("outlives %s", async (_what, channels, ms) => {
    expect(await findLeaseMs(channels)).toBeGreaterThan(ms);
  });
});
