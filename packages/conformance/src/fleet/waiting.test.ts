import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import OpenAI from "openai";
import { afterEach, expect, it, vi } from "vitest";
import { listen } from "../support/listen.js";
import { describeWithService } from "../support/needs-service.js";
import { createPrefix, REDIS, removeKeys } from "../support/redis-service.js";
import { type ServerProcess, spawnServer } from "../support/spawn-server.js";
import type { WaitingPlan } from "./waiting-process.js";

const PROGRAM = new URL("waiting-process.ts", import.meta.url);
const CALLERS = Array.from({ length: 10 }, (_, index) => ({
  id: `caller-${index}`,
  key: `waiting-canary-${index}`,
}));
const IMAGE = "https://ark.test/1.png";
const PATIENCE = { timeout: 30_000, interval: 20 };

await describeWithService(REDIS, (redisUrl) => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  /** Three gateways that share Redis. The provider needs this long for an image. */
  async function open(imageMs: number) {
    const prefix = createPrefix();
    const running = new Map<string, number>();
    const seen: { readonly prompt: string; readonly at: number }[] = [];
    const most = { ofOneCaller: 0 };
    const provider = await listen((request, response) => {
      const respond = async (): Promise<void> => {
        const { prompt } = JSON.parse(await text(request));
        const [caller = ""] = prompt.split(" ");
        seen.push({ prompt, at: performance.now() });
        running.set(caller, (running.get(caller) ?? 0) + 1);
        most.ofOneCaller = Math.max(most.ofOneCaller, running.get(caller) ?? 0);
        await sleep(imageMs);
        running.set(caller, (running.get(caller) ?? 0) - 1);
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ data: [{ url: IMAGE }], usage: { generated_images: 1 } }));
      };
      void respond();
    });
    ends.push(() => provider.close());
    const plan: WaitingPlan = { redisUrl, prefix, baseUrl: `${provider.url}/api/v3`, callers: CALLERS };
    const started = [0, 1, 2].map(() => spawnServer<WaitingPlan>(PROGRAM));
    ends.push(async () => {
      await Promise.all(started.map((one) => one.kill()));
      const client = new Redis(redisUrl);
      await removeKeys(client, prefix);
      client.disconnect();
    });
    const servers = await Promise.all(started.map((one) => one.start(plan)));
    const generate = (server: ServerProcess | undefined, caller: number, prompt: string) =>
      new OpenAI({
        baseURL: `${server?.url}/v1`,
        apiKey: CALLERS[caller]?.key ?? "",
        maxRetries: 0,
        timeout: 120_000,
      }).images
        .generate({ model: "fox", prompt: `caller-${caller} ${prompt}` })
        .then(({ data }) => data?.[0]?.url);
    return { servers, generate, seen, most };
  }

  it("the requests of a caller to three processes wait, are served in their order, and never exceed its limit", async () => {
    const { servers, generate, seen, most } = await open(300);
    const images: Promise<unknown>[] = [];
    // The first request of a process takes longer.
    for (const [index, server] of servers.entries()) await generate(server, index + 1, "first");
    seen.length = 0;
    for (let index = 0; index < 12; index++) {
      images.push(generate(servers[index % 3], 0, String(index)));
      // A request has its place in Redis when it was refused.
      await sleep(150);
    }
    expect(new Set(await Promise.all(images))).toEqual(new Set([IMAGE]));
    expect(most.ofOneCaller).toBe(1);
    expect(seen.map(({ prompt }) => Number(prompt.split(" ")[1]))).toEqual(images.map((_, index) => index));
  }, 60_000);

  it("nine callers with one request each wait at most one turn beside a caller with a thousand", async () => {
    const { servers, generate, seen, most } = await open(1_500);
    const greedy = Array.from({ length: 1_000 }, (_, index) =>
      generate(servers[index % 3], 0, String(index)),
    );
    for (const one of greedy) one.catch(() => undefined);
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(0), PATIENCE);
    const nine = await Promise.all(
      CALLERS.slice(1).map((_, index) => generate(servers[index % 3], index + 1, "one")),
    );
    expect(nine).toEqual(nine.map(() => IMAGE));
    expect(most.ofOneCaller).toBe(1);
    // All nine were sent before the caller with a thousand had its third turn.
    const third =
      seen.filter(({ prompt }) => prompt.startsWith("caller-0 "))[2]?.at ?? Number.POSITIVE_INFINITY;
    const others = seen.filter(({ prompt }) => !prompt.startsWith("caller-0 "));
    expect(others).toHaveLength(9);
    expect(Math.max(...others.map(({ at }) => at))).toBeLessThan(third);
  }, 60_000);

  it("a process that is killed while its requests wait keeps no turn, and no limit is exceeded", async () => {
    const { servers, generate, seen, most } = await open(200);
    const [first, second] = servers;
    const running = generate(second, 0, "running");
    await vi.waitFor(() => expect(seen).toHaveLength(1), PATIENCE);
    const lost = [0, 1, 2].map((index) => generate(first, 0, `lost ${index}`));
    const failed = Promise.allSettled(lost);
    const alive = generate(second, 0, "alive");
    await first?.kill();
    expect((await failed).filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
    expect(await Promise.all([running, alive])).toEqual([IMAGE, IMAGE]);
    expect(most.ofOneCaller).toBe(1);
  }, 60_000);
});
