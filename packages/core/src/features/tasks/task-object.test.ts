import { describe, expect, it } from "vitest";
import { createTask } from "../../testing/create-task.js";
import { readJsonBody } from "../../testing/read-body.js";
import { endedSource } from "../../testing/scripted-source.js";
import type { Task } from "../task-store/task-store.js";
import {
  createTaskId,
  hasEnded,
  isTaskId,
  toTaskObject,
  writeTask,
  writeTaskSummary,
} from "./task-object.js";

const QUEUED = {
  id: `task_${"0".repeat(32)}`,
  object: "image.task",
  status: "queued",
  created_at: 1_800_000_000,
  expires_at: 1_800_086_400,
  model: "image-max",
  operation: "generate",
  request_id: "req_1",
};
const ENDED_AT = { endedAt: 1_800_000_042_000 };
const ERROR = '{"message":"No.","type":"upstream_error","code":"x","param":null}';

describe("the object of a task", () => {
  it.each<[string, Partial<Task>, object]>([
    ["queued", {}, QUEUED],
    ["in progress", { status: "in_progress" }, { ...QUEUED, status: "in_progress" }],
    [
      "in progress with images",
      { status: "in_progress", images: ['{"url":"a"}', '{"url":"b"}'] },
      { ...QUEUED, status: "in_progress", images: [{ url: "a" }, { url: "b" }] },
    ],
    [
      "completed",
      { status: "completed", ...ENDED_AT, result: '{"created":1,\n"data":[]}' },
      { ...QUEUED, status: "completed", ended_at: 1_800_000_042, result: { created: 1, data: [] } },
    ],
    [
      "failed",
      { status: "failed", ...ENDED_AT, error: ERROR },
      { ...QUEUED, status: "failed", ended_at: 1_800_000_042, error: JSON.parse(ERROR) },
    ],
    [
      "cancelled",
      { status: "cancelled", ...ENDED_AT },
      { ...QUEUED, status: "cancelled", ended_at: 1_800_000_042 },
    ],
    ["with a hostile model", { model: '"},{"\u2028\ud800' }, { ...QUEUED, model: '"},{"\u2028\ud800' }],
  ])("of a task that is %s", async (_what, members, object) => {
    const task = createTask(members);
    expect(await readJsonBody(writeTask(task, task.result))).toEqual(object);
    const { images: _images, result: _result, error, ...own } = object as Record<string, unknown>;
    expect(toTaskObject(task)).toEqual(own);
    expect(JSON.parse(writeTaskSummary(task))).toEqual(error === undefined ? own : { ...own, error });
  });

  it("contains the result as it was stored, without parsing it", () => {
    const written = writeTask(createTask({ status: "completed" }), '{"n": 1.0, "n":12345678901234567890}');
    expect(written).toContain('"result":{"n": 1.0, "n":12345678901234567890}}');
  });

  it("is made of bytes if its result is", async () => {
    const { body } = endedSource('{"data":[', "1]}");
    const task = createTask({ status: "completed", ...ENDED_AT, result: "a pointer" });
    const written = writeTask(task, body);
    expect(typeof written).toBe("object");
    expect(await readJsonBody(written)).toEqual({
      ...QUEUED,
      status: "completed",
      ended_at: 1_800_000_042,
      result: { data: [1] },
    });
  });
});

describe("the id of a task", () => {
  it("is new each time and valid", () => {
    const ids = new Set(Array.from({ length: 1_000 }, createTaskId));
    expect(ids.size).toBe(1_000);
    expect([...ids].every(isTaskId)).toBe(true);
  });

  it.each([
    "",
    "task_",
    "0".repeat(32),
    `task_${"0".repeat(31)}`,
    `task_${"0".repeat(33)}`,
    `task_${"A".repeat(32)}`,
    `task_${"0".repeat(31)}g`,
    `Task_${"0".repeat(32)}`,
    ` task_${"0".repeat(32)}`,
    `task_${"0".repeat(32)}\n`,
    `task_${"0".repeat(31)}%30`,
    "task_../../../../../../etc/passwd",
  ])("is not %j", (id) => {
    expect(isTaskId(id)).toBe(false);
  });
});

describe("hasEnded", () => {
  it.each<[Task["status"], boolean]>([
    ["queued", false],
    ["in_progress", false],
    ["completed", true],
    ["failed", true],
    ["cancelled", true],
  ])("%s: %s", (status, expected) => {
    expect(hasEnded({ status })).toBe(expected);
  });
});
