import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { createMemoryLedger } from "@calotype/core";
import { afterEach, describe, expect, it } from "vitest";
import { open, responseTo } from "../support/http-client.js";
import { DONE, report } from "./making.js";
import { ONE } from "./row.js";
import { makes } from "./script.js";
import { CALLER, type StartedCase, startCase } from "./start-case.js";
import { STREAMS, toCall, type Way, WHOLE } from "./ways.js";

const STILL_OPEN = "still open";
const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** A gateway whose ledger stores a charge only after `commit` was called. */
async function start(way: Way): Promise<StartedCase & { readonly commit: () => void }> {
  const ledger = createMemoryLedger();
  const gate = Promise.withResolvers<void>();
  const started = await startCase({
    row: {
      happened: "",
      ways: [way],
      provider: [makes({ images: 1, usage: report(1) })],
      charges: ONE,
      options: () => ({
        ledger: {
          ...ledger,
          async settle(record) {
            await gate.promise;
            await ledger.settle(record);
          },
        },
      }),
    },
    way,
    pricing: "image",
  });
  cleanUps.push(started.close);
  return { ...started, commit: gate.resolve };
}

describe("a response whose charge is not stored yet", () => {
  it.each(WHOLE)("does not begin (%s)", async (way) => {
    const { url, gateway, commit, providerCalled } = await start(way);
    const call = toCall(way, 1);
    const outgoing = open(url, call).end(call.body);
    const responded = responseTo(outgoing);
    await providerCalled;

    expect(await Promise.race([responded, pause(80, STILL_OPEN)])).toBe(STILL_OPEN);
    expect(await gateway.usage.balance(CALLER)).toEqual({ settled: "0", held: "0.25" });

    commit();
    (await responded).resume();
    expect(await gateway.usage.balance(CALLER)).toEqual({ settled: "0.25", held: "0" });
  });

  it.each(STREAMS)("has not sent its last event and has not ended (%s)", async (way) => {
    const { url, gateway, commit, providerCalled } = await start(way);
    const call = toCall(way, 1);
    const outgoing = open(url, call).end(call.body);
    const incoming = await responseTo(outgoing);
    const ended = once(incoming, "end");
    let text = "";
    incoming.setEncoding("utf8").on("data", (chunk) => {
      text += String(chunk);
    });

    await providerCalled;
    expect(await Promise.race([ended, pause(80, STILL_OPEN)])).toBe(STILL_OPEN);
    expect(text).not.toMatch(/completed|\[DONE\]/);
    expect(await gateway.usage.balance(CALLER)).toEqual({ settled: "0", held: "0.25" });

    commit();
    await ended;
    expect(text.endsWith(DONE)).toBe(true);
    expect(await gateway.usage.balance(CALLER)).toEqual({ settled: "0.25", held: "0" });
  });
});
