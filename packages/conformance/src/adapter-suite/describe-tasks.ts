import { once } from "node:events";
import { createMemoryLedger, type GatewayOptions } from "@calotype/core";
import { describe, expect, it, vi } from "vitest";
import { toComparable } from "../support/comparable.js";
import { type Call, open, type ReadResponse, responseTo } from "../support/http-client.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { readEvents } from "../support/read-events.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { CALLER_KEY, type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost, Mounting } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const headers = { authorization: `Bearer ${CALLER_KEY}` };
const call = (path: string, method = "GET"): Call => ({ method, path, headers });
const SUBMISSION = jsonCall(SEEDREAM_BODY, { prefer: "respond-async" });

/** Tasks wait until the test cancels them. */
const NO_WORKER: GatewayOptions["tasks"] = { concurrency: 0 };
const CLIENTS = 90;

/** The endpoints of tasks. */
export function describeTasks(host: AdapterHost, providers: () => Providers): void {
  const mount = mountWithTask(host, providers);

  describe("tasks", () => {
    it("are accepted with their place, and then have the response of a request without Prefer", async () => {
      const { submission, location, mounted } = await mount({}, {});
      expect(submission).toMatchObject({
        status: 202,
        headers: { "retry-after": "5", "preference-applied": "respond-async" },
      });
      expect(parse(submission)).toMatchObject({ object: "image.task", status: "queued" });

      const task = await mounted.send(call(`${location}?wait=30`));
      const direct = await mounted.send(jsonCall(SEEDREAM_BODY));

      expect(parse(task)).toMatchObject({
        status: "completed",
        request_id: submission.headers["x-request-id"],
      });
      const { result }: { result: unknown } = JSON.parse(task.text);
      expect(toComparable({ ...direct, text: JSON.stringify(result) }).text).toBe(toComparable(direct).text);
    });

    const mountings: (Mounting & { basePath?: string })[] = [{ basePath: "/ai" }];
    if (host.hasMountPaths) mountings.push({ at: "/site" }, { at: "/site", basePath: "/ai" });
    it.each(mountings)("are found under their place: %j", async (mounting) => {
      const { before, location, mounted } = await mount(mounting);
      expect(location).toMatch(new RegExp(`^${before}/v1/images/tasks/task_[0-9a-f]{32}$`));
      expect((await mounted.send(call(location))).status).toBe(200);
    });

    it.each<[string, (location: string) => Call, number, string]>([
      ["the list", () => call("/v1/images/tasks?limit=1"), 200, '"object":"list"'],
      ["a task", (location) => call(location), 200, '"status":"queued"'],
      ["a task with a slash and a query", (location) => call(`${location}/?x=1`), 200, '"status":"queued"'],
      ["HEAD of the list", () => call("/v1/images/tasks", "HEAD"), 200, ""],
      ["HEAD of a task", (location) => call(location, "HEAD"), 200, ""],
      ["HEAD of events", (location) => call(`${location}/events`, "HEAD"), 200, ""],
      ["an unknown task", () => call(`/v1/images/tasks/task_${"f".repeat(32)}`), 404, "task_not_found"],
      ["a path in place of the id", () => call("/v1/images/tasks/..%2f..%2fmodels"), 404, "task_not_found"],
      ["a wrong limit", () => call("/v1/images/tasks?limit=1000"), 400, '"param":"limit"'],
      ["a wrong wait", (location) => call(`${location}?wait=1000`), 400, '"param":"wait"'],
      ["another method", (location) => call(location, "DELETE"), 405, "method_not_allowed"],
      ["GET of a cancellation", (location) => call(`${location}/cancel`), 405, "method_not_allowed"],
      ["a request without a key", (location) => ({ method: "GET", path: location }), 401, "invalid_api_key"],
      ["a cancellation", (location) => call(`${location}/cancel`, "POST"), 200, '"status":"cancelled"'],
      [
        "a cancellation with a body",
        (location) => ({ ...SUBMISSION, path: `${location}/cancel` }),
        200,
        '"status":"cancelled"',
      ],
    ])("give the same response to %s", async (_what, create, status, text) => {
      const { gateway, mounted, location } = await mount();
      const sent = create(location);

      const response = await mounted.send(sent);

      expect(response.status).toBe(status);
      expect(response.text).toContain(text);
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, sent)));
    });

    it("that have ended have one event", async () => {
      const { gateway, mounted, location } = await mount();
      await mounted.send(call(`${location}/cancel`, "POST"));

      const events = await mounted.send(call(`${location}/events`));

      expect(events).toMatchObject({
        status: 200,
        headers: { "content-type": /^text\/event-stream/, "cache-control": "no-cache, no-transform" },
      });
      expect(readEvents(events.text)).toMatchObject([{ event: "status", data: /"status":"cancelled"/ }]);
      expect(toComparable(events)).toEqual(
        toComparable(await sendByFetch(gateway, call(`${location}/events`))),
      );
    });

    it("end the requests that wait for them", async () => {
      const { mounted, location, watches } = await mount();
      const waits = Promise.all([
        mounted.send(call(`${location}?wait=60`)),
        mounted.send({ ...call(location), headers: { ...headers, prefer: "wait=60" } }),
        mounted.send(call(`${location}/events`)),
      ]);
      await vi.waitFor(() => expect(watches()).toBe(1));
      await mounted.send(call(`${location}/cancel`, "POST"));

      const [byQuery, byHeader, byEvents] = await waits;

      expect(parse(byQuery)).toMatchObject({ status: "cancelled" });
      expect(parse(byHeader)).toMatchObject({ status: "cancelled" });
      expect(byHeader.headers["preference-applied"]).toBe("wait=60");
      expect(readEvents(byEvents.text).at(-1)).toMatchObject({
        event: "status",
        data: /"status":"cancelled"/,
      });
      expect(watches()).toBe(0);
    });

    it.each<[string, (response: ReadResponse) => void]>([
      ["?wait=60", (response) => expect(parse(response)).toMatchObject({ status: "queued" })],
      [
        "/events",
        ({ text }) =>
          expect(readEvents(text).at(-1)).toMatchObject({ event: "reconnect", data: /"status":"queued"/ }),
      ],
    ])("end the requests that wait when the gateway closes: %s", async (rest, check) => {
      const { gateway, mounted, location, watches } = await mount();
      const waits = mounted.send(call(`${location}${rest}`));
      await vi.waitFor(() => expect(watches()).toBe(1));
      const begun = performance.now();
      await gateway.close();

      check(await waits);

      expect(performance.now() - begun).toBeLessThan(5_000);
    });
  });
}

/** Many clients that wait for a task, of a host with a socket. */
export function describeWaitingClients(host: AdapterHost, providers: () => Providers): void {
  const mount = mountWithTask(host, providers);

  describe("clients that wait for tasks", () => {
    it("get events as they come", async () => {
      const { mounted, location } = await mount();
      const outgoing = open(mounted.url, call(`${location}/events`));
      outgoing.end();
      const incoming = await responseTo(outgoing);
      const first = String(await once(incoming, "data"));
      expect(readEvents(first)).toMatchObject([{ event: "status", data: /"status":"queued"/ }]);

      const last = once(incoming, "data");
      const end = once(incoming, "end");
      await mounted.send(call(`${location}/cancel`, "POST"));

      expect(String(await last)).toContain('"status":"cancelled"');
      await end;
    });

    it.each([
      ["with a query", "?wait=60"],
      ["with events", "/events"],
    ])("%s are forgotten when they disconnect", async (_how, rest) => {
      const { mounted, location, watches } = await mount();
      const clients = Array.from({ length: CLIENTS }, () => {
        const client = open(mounted.url, call(`${location}${rest}`));
        client.on("error", () => {});
        client.on("response", (incoming) => incoming.on("error", () => {}).resume());
        client.end();
        return client;
      });
      await vi.waitFor(() => expect(watches()).toBe(1));
      // All have arrived: the caller has no room for as many again.
      await vi.waitFor(async () => {
        const more = Array.from({ length: 20 }, () => {
          const extra = open(mounted.url, call(`${location}?wait=1`));
          extra.end();
          return responseTo(extra);
        });
        const statuses = (await Promise.all(more)).map((incoming) => {
          incoming.resume();
          return incoming.statusCode;
        });
        expect(statuses).toContain(429);
      });
      for (const client of clients) client.destroy();
      await vi.waitFor(() => expect(watches()).toBe(0));
      expect((await mounted.send(call(`${location}?wait=1`))).status).toBe(200);
    });
  });
}

/** Returns a function that mounts a gateway with one task that waits, and a count of the watches that are open. */
function mountWithTask(host: AdapterHost, providers: () => Providers) {
  return async (
    { at, basePath }: Mounting & { readonly basePath?: string } = {},
    tasks: GatewayOptions["tasks"] = NO_WORKER,
  ) => {
    const { ledger, watches } = createWatchedLedger();
    const { gateway } = startGateway(providers(), { ledger, tasks, basePath });
    const mounted = await mountFor(host, gateway, at === undefined ? {} : { at });
    const before = `${at ?? ""}${basePath ?? ""}`;
    const submission = await mounted.send({ ...SUBMISSION, path: `${before}${SUBMISSION.path}` });
    return { gateway, mounted, watches, submission, before, location: submission.headers["location"] ?? "" };
  };
}

function createWatchedLedger() {
  const ledger = createMemoryLedger();
  const { tasks } = ledger;
  let watches = 0;
  const watch: typeof tasks.watch = (listener) => {
    const end = tasks.watch(listener);
    watches++;
    return () => {
      watches--;
      end();
    };
  };
  return { ledger: { ...ledger, tasks: { ...tasks, watch } }, watches: () => watches };
}

function parse({ text }: ReadResponse): unknown {
  const value: unknown = JSON.parse(text);
  return value;
}
