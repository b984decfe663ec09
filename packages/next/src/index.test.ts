import { describe, expect, it } from "vitest";
import { toNextHandlers } from "./index.js";

const REQUEST = { params: Promise.resolve({ path: ["v1", "models"] }) };
const send = (handlers: ReturnType<typeof toNextHandlers>) =>
  handlers.GET(new Request("http://localhost/ai/v1/models"), REQUEST);

/** Responds with the mount path. */
const mounted = {
  fetch: async (_request: Request, host: { mountPath?: string | undefined } = {}) =>
    new Response(host.mountPath),
};

describe("toNextHandlers", () => {
  it("takes what a function creates, or the promise of it", async () => {
    for (const gateway of [mounted, () => mounted, async () => mounted])
      expect(await (await send(toNextHandlers(gateway))).text()).toBe("/ai");
  });

  it("calls the function once, with the first request", async () => {
    let calls = 0;
    const handlers = toNextHandlers(async () => {
      calls++;
      return mounted;
    });

    expect(calls).toBe(0);
    await Promise.all([send(handlers), send(handlers)]);
    await send(handlers);
    expect(calls).toBe(1);
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("no key"))],
    [
      "throws",
      () => {
        throw new Error("no key");
      },
    ],
  ])("calls the function again after it %s", async (_how, fail: () => never | Promise<never>) => {
    let isReady = false;
    const handlers = toNextHandlers(() => (isReady ? mounted : fail()));

    await expect(send(handlers)).rejects.toThrow("no key");
    isReady = true;
    expect((await send(handlers)).status).toBe(200);
  });
});
