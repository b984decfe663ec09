import { describe, expect, it } from "vitest";
import { parseRecord } from "./stored-entries.js";

const RECORD = {
  state: "settled",
  id: "req_1",
  time: "2026-11-21T03:04:05.006Z",
  caller: "me",
  group: "default",
  model: "image-max",
  charge: "0.5",
};

describe("the upstream request ids of a stored record", () => {
  it.each([
    { name: "absent, as in earlier records", ids: {} },
    { name: "a list", ids: { upstreamRequestIds: ["a", "b"] } },
    { name: "an empty list", ids: { upstreamRequestIds: [] } },
  ])("may be $name", ({ ids }) => {
    expect(parseRecord(JSON.stringify({ ...RECORD, ...ids }))).toEqual({ ...RECORD, ...ids });
  });

  it.each(["a", 1, null, [1], {}])("may not be %j", (upstreamRequestIds) => {
    expect(() => parseRecord(JSON.stringify({ ...RECORD, upstreamRequestIds }))).toThrow("damaged");
  });
});

describe("the derivation of a stored record", () => {
  const flat = {
    pricing_mode: "per-request",
    count: 1,
    count_source: "default",
    model_price: "0.5",
    group_ratio: "1",
    exact: "0.5",
  };

  it.each([
    { name: "absent", part: {} },
    { name: "that of a flat price, as in earlier records", part: { derivation: flat } },
    { name: "a list of lines", part: { derivation: { lines: [{ what: "image", amount: "0.5" }] } } },
    { name: "an empty list of lines", part: { derivation: { lines: [] } } },
  ])("may be $name", ({ part }) => {
    expect(parseRecord(JSON.stringify({ ...RECORD, ...part }))).toEqual({ ...RECORD, ...part });
  });

  it.each([null, "x", [], { lines: {} }, { lines: [null] }, { lines: [{ what: "image" }] }])(
    "may not be %j",
    (derivation) => {
      expect(() => parseRecord(JSON.stringify({ ...RECORD, derivation }))).toThrow("damaged");
    },
  );
});
