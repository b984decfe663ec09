import { describe, expect, it } from "vitest";
import { readAttribution } from "./request/attribution.js";
import { createTestGateway } from "./testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a fox" };
const TAGS = { "x-calotype-tags": "team=design, job=4 2" };

const headersOf = (tags: string | null) => ({
  get: (name: string) => (name === "x-calotype-tags" ? tags : null),
});

describe("the end user", () => {
  it.each<[string, object, string | undefined]>([
    ["is the safety identifier before the user", { safety_identifier: "s", user: "u" }, "s"],
    ["is the user without a safety identifier", { safety_identifier: null, user: " u " }, "u"],
    ["is not a string", { safety_identifier: 3, user: {} }, undefined],
    ["is not empty", { safety_identifier: "", user: "\u0000 \n" }, undefined],
    ["has no control characters and no half of a pair", { user: "a\u0000b\ud800" }, "ab\ufffd"],
    ["is cut to 128 characters, not within one", { user: "😀".repeat(200) }, "😀".repeat(128)],
  ])("%s", (_what, fields, endUser) => {
    expect(readAttribution(headersOf(null), { ...fields })).toEqual(endUser === undefined ? {} : { endUser });
  });
});

describe("tags", () => {
  it.each<[string, Record<string, string> | undefined]>([
    ["a=1", { a: "1" }],
    [" a = 1 ,b=x=y,, c.d_e-f= two words ", { a: "1", b: "x=y", "c.d_e-f": "two words" }],
    [" , ", undefined],
    [
      Array.from({ length: 8 }, (_, at) => `k${at}=v`).join(),
      Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`k${at}`, "v"])),
    ],
    [`${"k".repeat(64)}=${"v".repeat(128)}`, { ["k".repeat(64)]: "v".repeat(128) }],
    ["constructor=x", { constructor: "x" }],
  ])("are read: %j", (header, tags) => {
    expect(readAttribution(headersOf(header), {})).toEqual(tags === undefined ? {} : { tags });
  });

  it.each([
    "a",
    "a=",
    "=1",
    "a b=1",
    "_a=1",
    "ü=1",
    "a=ü",
    "a=1,a=2",
    `${"k".repeat(65)}=1`,
    `a=${"v".repeat(129)}`,
    Array.from({ length: 9 }, (_, at) => `k${at}=v`).join(),
  ])("that are wrong are a 400: %j", async (header) => {
    const { post, calls, gateway } = createTestGateway();
    expect(() => readAttribution(headersOf(header), {})).toThrow(
      "The header x-calotype-tags must be up to 8 tags",
    );
    if (/[^\x20-\x7e]/.test(header)) return;
    const { status, body } = await post(BODY, { "x-calotype-tags": header });
    expect([status, calls]).toEqual([400, []]);
    expect(body).toMatchObject({ error: { code: "invalid_request_error", param: "x-calotype-tags" } });
    await gateway.close();
  });
});

describe("a record", () => {
  const options = {
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
  } as const;

  it.each(["post", "postNative"] as const)(
    "has the end user and the tags of its request (%s)",
    async (send) => {
      const { gateway, records, ...senders } = createTestGateway(undefined, options);
      expect((await senders[send]({ ...BODY, user: "ann" }, TAGS)).status).toBe(200);
      expect((await senders[send](BODY)).status).toBe(200);
      await gateway.close();
      expect(records).toMatchObject([{ endUser: "ann", tags: { team: "design", job: "4 2" } }, {}]);
      expect(records[1]).not.toHaveProperty("endUser");
      expect(records[1]).not.toHaveProperty("tags");
      expect(await gateway.usage.totals("tag:team")).toMatchObject([
        { key: "", requests: 1 },
        { key: "design", requests: 1, charge: "0.1" },
      ]);
      expect(await gateway.usage.totals("endUser", { tag: { key: "job", value: "4 2" } })).toMatchObject([
        { key: "ann" },
      ]);
    },
  );

  it("of a task has those of its submission", async () => {
    const { gateway, post, records } = createTestGateway(undefined, options);
    const { status } = await post({ ...BODY, user: "ann" }, { ...TAGS, prefer: "respond-async" });
    expect(status).toBe(202);
    await gateway.runTasks();
    await gateway.close();
    expect(records).toMatchObject([{ endUser: "ann", tags: { team: "design", job: "4 2" } }]);
  });
});

it.each([true, false])("a response has its charge if showCharge is %s", async (showCharge) => {
  const { post } = createTestGateway(undefined, {
    showCharge,
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
  });
  expect((await post(BODY)).headers.get("x-calotype-charge")).toBe(showCharge ? "0.1" : null);
});
