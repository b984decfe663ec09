import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createScriptedSource } from "../testing/scripted-source.js";
import { Relay } from "./relay.js";

describe("a relay whose onEnd rejects", () => {
  it.each(["ends", "fails"])("fails a read, also if no read waits when its source %s", async (how) => {
    const source = createScriptedSource("a");
    const relay = new Relay(source.body, {
      pass: (chunk) => [chunk],
      onEnd: () => Promise.reject(new Error("Not charged.")),
      passFailure: () => new Uint8Array(1),
      beat: () => [new Uint8Array(2)],
      heartbeatMs: 5,
    });
    expect((await relay.next()).value).toHaveLength(1);
    expect((await relay.next()).value).toHaveLength(2);
    if (how === "ends") source.end();
    else source.fail(new Error("broken"));
    await pause(20);
    await expect(relay.next()).rejects.toThrow("Not charged.");
    expect(await relay.next()).toEqual({ done: true, value: undefined });
  });

  it("does not fail the reads for a client that has left", async () => {
    const source = createScriptedSource();
    let rest: Promise<void> | undefined;
    const relay = new Relay(source.body, {
      pass: (chunk) => [chunk],
      onEnd: () => Promise.reject(new Error("Not charged.")),
      onAbandoned(stream) {
        rest = stream.readToEnd();
      },
    });
    await relay.return();
    source.end();
    expect(await rest).toBeUndefined();
  });
});
