import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import { headersOf, openLimited, statusesOf } from "./testing/limited-gateway.js";
import { createOpenStreams } from "./testing/open-streams.js";
import { ARK_RESPONSE, createPost, type Provider } from "./testing/test-gateway.js";
import type { CallerLimits } from "./types.js";

const BODY = { model: "doodle", prompt: "a fox" };
const STREAM = { ...BODY, stream: true };

const open = (
  limits: CallerLimits | undefined,
  own?: CallerLimits,
  options?: Partial<GatewayOptions>,
  provider?: Provider,
) => openLimited({ limits, own, options, provider });

/** A provider that responds when the test allows it. */
function openSlowProvider() {
  const waiting: (() => void)[] = [];
  const provider: Provider = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return Response.json(ARK_RESPONSE);
  };
  return {
    provider,
    /** Responds to all requests as soon as this number of requests wait. */
    async respond(count: number): Promise<void> {
      while (waiting.length < count) await new Promise((resolve) => setTimeout(resolve));
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

describe("parallel requests", () => {
  it("are as many as a caller may have, and the next passes when one has ended", async () => {
    const slow = openSlowProvider();
    const { post, calls } = open({ concurrent: 2 }, undefined, {}, slow.provider);
    const running = [post(BODY), post(BODY)];
    const refused = await post(BODY);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ error: { code: "rate_limit_exceeded", type: "rate_limit_error" } });
    expect(headersOf(refused.headers, ["retry-after", "ratelimit", "ratelimit-policy"])).toEqual({
      "retry-after": "1",
      ratelimit: '"concurrent";r=0',
      "ratelimit-policy": '"concurrent";q=2;qu="concurrent-requests"',
    });
    await slow.respond(2);
    expect(statusesOf(await Promise.all(running))).toEqual([200, 200]);
    const next = post(BODY);
    await slow.respond(1);
    expect((await next).status).toBe(200);
    expect(calls).toHaveLength(3);
  });

  it("of a model are its own", async () => {
    const slow = openSlowProvider();
    const models = {
      doodle: { family: "seedream", limits: { concurrent: 1 } },
      "seedream-4-0-250828": { family: "seedream" },
    };
    const { post } = open(
      undefined,
      undefined,
      { models, channels: [{ id: "ark", family: "seedream", apiKey: "k" }] },
      slow.provider,
    );
    const running = [post(BODY), post({ ...BODY, model: "seedream-4-0-250828" })];
    const refused = await post(BODY);
    expect(refused.body).toMatchObject({
      error: { message: expect.stringContaining("to the model doodle") },
    });
    await slow.respond(2);
    expect(statusesOf(await Promise.all(running))).toEqual([200, 200]);
  });

  it.each<[string, object, Provider]>([
    ["fails", {}, () => new Response("no", { status: 500 })],
    ["breaks", {}, () => Promise.reject(new Error("broken"))],
    ["is refused for its body", { prompt: 7 }, () => Response.json(ARK_RESPONSE)],
    ["is refused for its model", { model: "nothing" }, () => Response.json(ARK_RESPONSE)],
  ])("a request that %s gives its place back", async (_what, changed, provider) => {
    const { post } = open({ concurrent: 1 }, undefined, {}, provider);
    const first = await post({ ...BODY, ...changed });
    const second = await post({ ...BODY, ...changed });
    expect(second.status).toBe(first.status);
    expect(second.status).not.toBe(429);
  });

  it("include a stream until it ends", async () => {
    const streams = createOpenStreams();
    const { gateway, post } = open({ concurrent: 1 }, undefined, {}, streams.provider);
    const stream = await gateway.fetch(createPost(STREAM));
    expect(stream.status).toBe(200);
    expect((await post(STREAM)).status).toBe(429);
    streams.finish();
    await stream.text();
    expect((await gateway.fetch(createPost(STREAM))).status).toBe(200);
  });

  it("include a stream whose client disconnected until the provider's stream was read", async () => {
    const streams = createOpenStreams();
    const { gateway, post, records } = open({ concurrent: 1 }, undefined, {}, streams.provider);
    const stream = await gateway.fetch(createPost(STREAM));
    await stream.body?.cancel();
    expect((await post(STREAM)).status).toBe(429);
    streams.finish();
    while (records.length === 0) await new Promise((resolve) => setTimeout(resolve));
    expect(records).toMatchObject([{ images: 1 }]);
    expect((await gateway.fetch(createPost(STREAM))).status).toBe(200);
  });

  it("a stream that breaks off gives its place back", async () => {
    const streams = createOpenStreams();
    const { gateway } = open({ concurrent: 1 }, undefined, {}, streams.provider);
    const stream = await gateway.fetch(createPost(STREAM));
    streams.breakOff();
    expect(await stream.text()).toContain("event: error");
    expect((await gateway.fetch(createPost(STREAM))).status).toBe(200);
  });

  it("are never more than that, of a thousand", async () => {
    let running = 0;
    let most = 0;
    const { post } = open({ concurrent: 7 }, undefined, {}, async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve));
      running--;
      return Response.json(ARK_RESPONSE);
    });
    const statuses = statusesOf(await Promise.all(Array.from({ length: 1_000 }, () => post(BODY))));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(7);
    expect(most).toBe(7);
    expect((await post(BODY)).status).toBe(200);
  });
});
