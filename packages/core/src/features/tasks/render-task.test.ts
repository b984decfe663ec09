import { expect, it } from "vitest";
import { createTask } from "../../testing/create-task.js";
import { readJsonBody } from "../../testing/read-body.js";
import { endedSource } from "../../testing/scripted-source.js";
import { renderAccepted, renderTask } from "./render-task.js";

const HEADERS = { "content-type": "application/json", "cache-control": "no-store", "x-request-id": "req_2" };

it("a submission gets a 202 that says where the task is and when to read it", async () => {
  const location = "https://gateway.test/v1/images/tasks/task_0";
  const response = renderAccepted(createTask(), { id: "req_2", location });
  expect(response).toMatchObject({
    status: 202,
    headers: { ...HEADERS, location, "retry-after": "5", "preference-applied": "respond-async" },
  });
  expect(await readJsonBody(response.body)).toMatchObject({ object: "image.task", status: "queued" });
});

it("a submission that is repeated after the end gets the state without the result", async () => {
  const task = createTask({ status: "completed", result: '{"data":[]}' });
  const { status, headers, body } = renderAccepted(task, {
    id: "req_2",
    location: "/x",
    ignored: ["style"],
    replacedSize: "2K",
  });
  expect(status).toBe(202);
  expect(headers).toMatchObject({ "x-calotype-ignored": "style", "x-calotype-size": "2K" });
  expect(await readJsonBody(body)).toMatchObject({ status: "completed" });
  expect(body).not.toContain("result");
});

it("a task has the headers of every response, and those that are given", () => {
  const response = renderTask(createTask(), { id: "req_2", headers: { "preference-applied": "wait=5" } });
  expect(response).toMatchObject({ status: 200, headers: { ...HEADERS, "preference-applied": "wait=5" } });
  expect(typeof response.body).toBe("string");
});

it("a task with a result of bytes is streamed", async () => {
  const { body: result } = endedSource('{"data":', "[]}");
  const { body } = renderTask(createTask({ status: "completed" }), { id: "req_2", result });
  expect(typeof body).toBe("object");
  expect(await readJsonBody(body)).toMatchObject({ result: { data: [] } });
});
