import { describe, expect, it, vi } from "vitest";
import { ASYNC, openTaskGateway as open } from "../../testing/task-gateway.js";
import { ARK_RESPONSE, type Provider } from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";

const REQUEST = { model: "seedream-4-5-251128", prompt: "a cat" };

describe("gateway.tasks", () => {
  it("lists the tasks of all callers, with counts", async () => {
    const gate = Promise.withResolvers<void>();
    const provider: Provider = async () => {
      await gate.promise;
      return Response.json(ARK_RESPONSE);
    };
    const { post, ended, gateway } = open(provider);
    const submitted = await post(REQUEST, ASYNC);
    const id = String(submitted.body["id"]);
    await vi.waitFor(async () =>
      expect(await gateway.tasks.list({ state: "in_progress" })).toMatchObject({ inProgress: 1 }),
    );
    gate.resolve();
    await ended(submitted);

    const { tasks, queued, inProgress } = await gateway.tasks.list({ state: "ended" });
    expect({ queued, inProgress }).toEqual({ queued: 0, inProgress: 0 });
    expect(tasks).toMatchObject([
      { id, caller: "me", status: "completed", requestId: submitted.headers.get("x-request-id") },
    ]);
    expect(await gateway.tasks.cancel("me", id)).toMatchObject({ status: "completed" });
  });

  it("says why a task failed, and refuses what it cannot do", async () => {
    const { post, ended, gateway } = open(async () => new Response("no", { status: 500 }));
    await ended(await post(REQUEST, ASYNC));

    const { tasks } = await gateway.tasks.list();
    expect(tasks).toMatchObject([{ status: "failed", errorCode: expect.stringMatching(/^upstream_/) }]);
    await expect(gateway.tasks.cancel("you", tasks[0]?.id ?? "")).rejects.toMatchObject({
      code: "task_not_found",
    });
    await expect(gateway.tasks.cancel("me", "task_1")).rejects.toMatchObject({ code: "task_not_found" });
    await expect(gateway.tasks.list({ limit: 0 })).rejects.toThrow(RangeError);
    const { tasks: _tasks, ...ledger } = createMemoryLedger();
    await expect(open(undefined, { ledger }).gateway.tasks.list()).rejects.toThrow(TypeError);
  });
});
