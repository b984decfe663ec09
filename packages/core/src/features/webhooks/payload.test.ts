import { describe, expect, it } from "vitest";
import type { Task } from "../task-store/task-store.js";
import { writeTaskSummary } from "../tasks/task-object.js";
import { writePayload } from "./payload.js";

const write = (task: Task): string => writePayload(task, writeTaskSummary);

const TASK: Task = {
  id: `task_${"0".repeat(32)}`,
  requestId: "req_1",
  caller: "me",
  model: "seedream",
  operation: "generate",
  status: "completed",
  createdAt: 1_800_000_000_000,
  expiresAt: 1_800_086_400_000,
  endedAt: 1_800_000_012_345,
  images: [],
};
const RESULT = { created: 1, data: [{ url: "https://example.com/1.png" }] };
const DATA = {
  id: TASK.id,
  object: "image.task",
  status: "completed",
  created_at: 1_800_000_000,
  expires_at: 1_800_086_400,
  ended_at: 1_800_000_012,
  model: "seedream",
  operation: "generate",
  request_id: "req_1",
};

describe("the payload of a webhook", () => {
  it("has the type, the time of the end and the task with its result", () => {
    const payload = write({ ...TASK, result: JSON.stringify(RESULT) });
    expect(JSON.parse(payload)).toEqual({
      type: "image.task.completed",
      timestamp: "2027-01-15T08:00:12.345Z",
      data: { ...DATA, result: RESULT },
    });
    expect(write({ ...TASK, result: JSON.stringify(RESULT) })).toBe(payload);
  });

  it("has the error of a task that failed", () => {
    const error = { message: "refused", code: "upstream_rejected" };
    expect(JSON.parse(write({ ...TASK, status: "failed", error: JSON.stringify(error) }))).toEqual({
      type: "image.task.failed",
      timestamp: "2027-01-15T08:00:12.345Z",
      data: { ...DATA, status: "failed", error },
    });
  });

  it("of a task that was cancelled has neither", () => {
    expect(JSON.parse(write({ ...TASK, status: "cancelled" }))).toEqual({
      type: "image.task.cancelled",
      timestamp: "2027-01-15T08:00:12.345Z",
      data: { ...DATA, status: "cancelled" },
    });
  });

  it("copies a result as it is, also with white space before it", () => {
    expect(write({ ...TASK, result: ' \n{"a":1e2}' })).toContain('"result": \n{"a":1e2}}}');
  });

  it.each([
    ["longer than 20 KiB", JSON.stringify({ text: "x".repeat(20 * 1024) })],
    ["longer than 20 KiB in UTF-8", JSON.stringify({ text: "图".repeat(7 * 1024) })],
    ["in the store of results", `@${"0".repeat(32)}`],
  ])("says that the result is left out if it is %s", (_what, result) => {
    expect(JSON.parse(write({ ...TASK, result }))).toMatchObject({
      data: { ...DATA, result_omitted: true },
    });
    expect(write({ ...TASK, result })).not.toContain('"result":');
  });

  it("has a result of almost 20 KiB", () => {
    const result = JSON.stringify({ text: "x".repeat(20 * 1024 - 500) });
    expect(JSON.parse(write({ ...TASK, result }))).toMatchObject({
      data: { result: JSON.parse(result) },
    });
  });
});
