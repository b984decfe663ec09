import { expect, it, vi } from "vitest";
import { GatewayError } from "../errors.js";
import { createMemoryAdmissionStore } from "../features/limits/memory-store.js";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { TaskLedger } from "../features/task-store/task-store.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import { cutOffWhenPolled, DONE, openDarkroom, openWaitingDarkroom } from "../testing/open-darkroom.js";
import { ASYNC, openTaskGateway } from "../testing/task-gateway.js";
import { ARK_RESPONSE, type Provider } from "../testing/test-gateway.js";

const BODY = { model: "seedream-4-5-251128", prompt: "an oak" };

/** Stores that write each call of these methods into a list, and `onUsage` that does the same. */
function recordCalls(ledger: TaskLedger = createMemoryLedger()) {
  const steps: string[] = [];
  const own = createMemoryAdmissionStore();
  // Maintenance reads the pauses of channels by the same method.
  const note = (id: string, step: string): void => void (id.startsWith("req_") && steps.push(step));
  const admission: GatewayOptions["admission"] = {
    ...own,
    admit: (request) => (note(request.id, "admit"), own.admit(request)),
    finish: (request, outcome) => (note(request.id, `finish: ${outcome.kind}`), own.finish(request, outcome)),
  };
  const { tasks } = ledger;
  const recorded: TaskLedger = {
    ...ledger,
    hold: (hold) => (steps.push("hold"), ledger.hold(hold)),
    settle: (record) => (steps.push("settle"), ledger.settle(record)),
    release: (id) => (steps.push("release"), ledger.release(id)),
    tasks: {
      ...tasks,
      submit: (task, hold) => (steps.push("submit"), tasks.submit(task, hold)),
      markSent: (id) => (steps.push("markSent"), tasks.markSent(id)),
      end: (end) => (steps.push("end"), tasks.end(end)),
    },
  };
  return { steps, options: { ledger: recorded, admission, onUsage: () => void steps.push("record") } };
}

const STREAM: Provider = () =>
  new Response(
    'event: image_generation.completed\ndata: {"type":"image_generation.completed","usage":{"generated_images":1}}\n\n',
    { headers: { "content-type": "text/event-stream" } },
  );

it.each<[string, Provider | undefined, object, Partial<GatewayOptions>, readonly string[]]>([
  ["with an image", undefined, {}, {}, ["admit", "hold", "settle", "finish: forget", "record"]],
  ["with a stream", STREAM, { stream: true }, {}, ["admit", "hold", "settle", "finish: forget", "record"]],
  [
    "with a failure of its provider",
    () => Response.json({ error: { code: "InternalServiceError", message: "no" } }, { status: 500 }),
    {},
    {},
    ["admit", "hold", "settle", "finish: forget", "record"],
  ],
  [
    "that is refused before it is sent",
    undefined,
    {},
    {
      beforeSend() {
        throw new GatewayError("invalid_request_error", "No oaks.");
      },
    },
    ["admit", "hold", "release", "finish: forget"],
  ],
  [
    "whose budget is used up",
    undefined,
    {},
    { callers: [{ id: "me", key: "caller-canary-b1946ac9", budget: "0" }] },
    ["admit", "hold", "finish: forget"],
  ],
])("a request %s releases what it has in order", async (_what, provider, fields, options, order) => {
  const { steps, options: stores } = recordCalls();
  const { post, gateway } = openTaskGateway(provider, { ...stores, ...options });
  await post({ ...BODY, ...fields });
  await gateway.close();
  expect(steps).toEqual(order);
});

it("a request with an idempotency key keeps its response after the hold has ended", async () => {
  const { steps, options } = recordCalls();
  const { post } = openTaskGateway(undefined, options);
  await post(BODY, { "idempotency-key": "once" });
  expect(steps).toEqual(["admit", "hold", "settle", "finish: keep", "record"]);
});

it("a task releases what it has in the same order, with its end in place of the settlement", async () => {
  const { steps, options } = recordCalls();
  const gateway = openTaskGateway(() => Response.json(ARK_RESPONSE), options);
  const submitted = await gateway.post(BODY, ASYNC);
  await vi.waitFor(() => expect(steps).toContain("record"));
  expect(submitted.status).toBe(202);
  expect(steps).toEqual([
    // The submission.
    "admit",
    "submit",
    "finish: keep",
    // The run.
    "admit",
    "markSent",
    "end",
    "finish: forget",
    "record",
  ]);
});

it("a continued call has no admission, and takes over the hold of the process that died", async () => {
  const ledger = createMemoryLedger();
  const first = openWaitingDarkroom(ledger);
  const response = first.post({ model: "film", prompt: "p" });
  await cutOffWhenPolled(first);
  await response;
  const { steps, options } = recordCalls(ledger);
  const next = openDarkroom(ledger, () => Response.json(DONE), options);
  next.gateway.start();
  await vi.waitFor(() => expect(steps).toContain("record"));
  expect(steps).toEqual(["settle", "record"]);
  await next.gateway.close();
});

it("an estimate reserves nothing", async () => {
  const { steps, options } = recordCalls();
  const { gateway } = openTaskGateway(undefined, options);
  const headers = new Headers({ authorization: "Bearer caller-canary-b1946ac9" });
  await gateway.estimate({ headers }, { operation: "generate", fields: BODY });
  expect(steps).toEqual([]);
});

it("a probe reserves nothing, and leaves no charge and no record", async () => {
  const { steps, options } = recordCalls();
  const { gateway, calls } = openTaskGateway(undefined, options);
  expect(await gateway.probeChannel("ark")).toMatchObject({ ok: true });
  await gateway.close();
  expect([calls.length, steps]).toEqual([1, []]);
});
