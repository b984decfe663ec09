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
