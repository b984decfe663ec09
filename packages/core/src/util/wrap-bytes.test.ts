import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { createScriptedSource, endedSource } from "../testing/scripted-source.js";
import { wrapBytes } from "./wrap-bytes.js";

const toUpperCase = (chunk: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(chunk).toString().toUpperCase());

describe("wrapBytes", () => {
  it("adds a string before and after the chunks, and converts them", async () => {
    const wrap = (convert?: typeof toUpperCase): Promise<string> =>
      text(wrapBytes(endedSource("a", "b").body, { before: "<", after: ">", convert }));
    expect(await wrap()).toBe("<ab>");
    expect(await wrap(toUpperCase)).toBe("<AB>");
  });

  it("fails with its source", async () => {
    const source = createScriptedSource();
    const body = wrapBytes(source.body, { before: "<", after: ">" });
    await body.next();
    source.fail(new Error("broken"));
    await expect(body.next()).rejects.toThrow("broken");
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });

  it("ends its source at once, also while a read is pending", async () => {
    let returned = 0;
    const stuck: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        async return() {
          returned++;
          return { done: true, value: undefined };
        },
      }),
    };
    const body = wrapBytes(stuck, { before: "<", after: ">" });
    await body.next();
    void body.next();
    await body.return?.();
    expect(returned).toBe(1);
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });
});
