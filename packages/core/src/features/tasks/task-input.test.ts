import { describe, expect, it } from "vitest";
import { createPrivateObjects } from "../results/private-objects.js";
import { keepBody } from "./task-body.js";
import { readTaskInput, type TaskInput, writeTaskInput } from "./task-input.js";

const INPUT: Omit<TaskInput, "version"> = {
  endpoint: { operation: "generate", path: "/v1/images/generations" },
  receivedAt: 1_700_000_000_000,
  caller: { id: "me" },
  group: "default",
  bounds: { maxImages: 1 },
  linkBase: "https://gateway.test",
  isForm: false,
  body: { kind: "inline", json: "{}" },
};

const changed = (members: object): string =>
  JSON.stringify({ ...(JSON.parse(writeTaskInput(INPUT)) as object), ...members });

describe("the input of a task", () => {
  it("is read as it was written", () => {
    expect(readTaskInput(writeTaskInput(INPUT))).toEqual({ version: 1, ...INPUT });
  });

  it.each([
    ["not an object", "[]", "damaged"],
    ["without a version", "{}", "damaged"],
    ["without members", '{"version":1}', "damaged"],
    ["with a caller that is not an object", changed({ caller: "me" }), "damaged"],
    ["with a time that is not a number", changed({ receivedAt: "now" }), "damaged"],
    ["of a newer version", changed({ version: 2 }), "format 2"],
  ])("is refused if it is %s", (_case, json, message) => {
    expect(() => readTaskInput(json)).toThrow(new RegExp(message));
  });
});

it("a long body may be deleted from the store of results a day after its task must have begun", async () => {
  const times: Date[] = [];
  const objects = createPrivateObjects(
    { put: async ({ expiresAt }) => void times.push(expiresAt), open: async () => undefined },
    1_000,
  );
  await keepBody({ prompt: "x".repeat(300_000) }, { objects, neededUntil: 1_000 });
  expect(times).toEqual([new Date(86_401_000)]);
});
