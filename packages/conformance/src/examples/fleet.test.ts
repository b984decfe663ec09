import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { POSTGRES_PROGRAMS } from "../postgres/postgres-server.js";
import { open, readResponse } from "../support/http-client.js";
import { describeWithServices } from "../support/needs-service.js";
import { REDIS_SERVER } from "../support/redis-server.js";
import { useProviders } from "../support/use-providers.js";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

const SCRIPT = join(ROOT, "examples/fleet/start.ts");
const MODEL = "seedream-4-0-250828";
const HAS_NGINX = ["nginx", "/usr/sbin/nginx"].some((nginx) => spawnSync(nginx, ["-v"]).status === 0);
const BALANCERS = HAS_NGINX ? ["", "none"] : ["none"];

await describeWithServices([REDIS_SERVER, POSTGRES_PROGRAMS], (redisServer, postgresPrograms) => {
  const providers = useProviders();
  const running: RunningExample[] = [];
  /** The folder of the script's files. */
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "calotype-example-"));
    chmodSync(folder, 0o755);
  });
  afterEach(async () => {
    for (const example of running.splice(0)) await example.stop();
    rmSync(folder, { recursive: true });
  });

  describe.each(BALANCERS)("examples/fleet with NGINX_PROGRAM=%j", (nginx) => {
    it("serves from both gateways, which share limits and keys, and ends without losing records or leaving files", async () => {
      const example = await startExample(SCRIPT, {
        TMPDIR: folder,
        REDIS_SERVER: redisServer,
        POSTGRES_PROGRAMS: postgresPrograms,
        REDIS_URL: "",
        DATABASE_URL: "",
        NGINX_PROGRAM: nginx,
        ARK_BASE_URL: providers().server.arkBaseUrl,
        DRAIN_SECONDS: "0.5",
      });
      running.push(example);
      const { baseUrl, apiKey, lines } = example;
      const client = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
      const key = { headers: { "Idempotency-Key": "one-order" } };
      const { response } = await client.images
        .generate({ model: MODEL, prompt: "an oak" }, key)
        .withResponse();
      const gateways = lines.flatMap((line) => / gateway \d +(http\S+)/.exec(line)?.[1] ?? []);
      expect(gateways).toHaveLength(2);
      expect(lines.join("\n")).toContain(nginx === "none" ? "round-robin.ts" : "nginx");

      // Both gateways return the stored response, whichever of them ran the request.
      const responses = await Promise.all(
        gateways.map((url) => {
          const own = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
          return own.images.generate({ model: MODEL, prompt: "an oak" }, key);
        }),
      );
      expect(responses[0]).toEqual(responses[1]);
      const limits = await Promise.all(
        gateways.map(async (url) => {
          const own = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
          const result = await own.images.generate({ model: MODEL, prompt: "an oak" }).withResponse();
          return /"requests";r=(\d+)/.exec(result.response.headers.get("ratelimit") ?? "")?.[1];
        }),
      );
      expect(new Set(limits)).toEqual(new Set(["597", "598"]));
      expect((await fetch(new URL("/readyz", baseUrl))).status).toBe(200);

      // One gateway is ended under load. nginx may lose a connection that is not accepted yet.
      const [, pid] = /gateway 1 .*process (\d+)/.exec(lines.join("\n")) ?? [];
      const load = callInTurns(baseUrl, apiKey);
      await sleep(300);
      process.kill(Number(pid), "SIGTERM");
      const statuses = await load;
      const served = statuses["200"] ?? 0;
      expect({ statuses, isServed: served >= 238 }).toEqual({ statuses, isServed: true });
      // Requests without a response did not run. Three requests ran before.
      await vi.waitFor(() => expect(countRecords(lines)).toBe(3 + served));
      const isThere = (): Promise<boolean> => fetch(`${gateways[0]}/healthz`).then(Boolean, () => false);
      await vi.waitFor(async () => expect(await isThere()).toBe(false));

      await expect(stream(baseUrl, apiKey)).resolves.toMatch(/completed[^]*\[DONE\]/);
      await example.findRecord(response.headers.get("x-request-id"));
      expect(await example.stop()).toBe(0);
      expect(readdirSync(folder)).toEqual([]);
    });
  });

  it("prints one line if a part does not start, and ends the other parts", async () => {
    const starts = startExample(SCRIPT, {
      TMPDIR: folder,
      REDIS_SERVER: redisServer,
      POSTGRES_PROGRAMS: postgresPrograms,
      REDIS_URL: "",
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/nowhere",
    });
    await expect(starts).rejects.toThrow(/ECONNREFUSED[^]*A gateway did not start/);
    expect(readdirSync(folder)).toEqual([]);
  });
});

async function stream(baseUrl: string, apiKey: string): Promise<string> {
  const response = await fetch(`${baseUrl}/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, prompt: "2 images", n: 2, stream: true }),
  });
  return await response.text();
}

function countRecords(lines: readonly string[]): number {
  return lines.filter((line) => line.startsWith("{")).length;
}

/**
 * Eight clients that each send thirty requests one after another over kept-alive connections. Returns how often each
 * status occurred.
 */
async function callInTurns(baseUrl: string, apiKey: string): Promise<Readonly<Record<string, number>>> {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const statuses: number[] = [];
  const callInTurn = async (): Promise<void> => {
    for (let count = 0; count < 30; count++) {
      const outgoing = open(baseUrl, { path: "/images/generations", headers }, agent);
      outgoing.end(JSON.stringify({ model: MODEL, prompt: "an oak", size: "1K" }));
      statuses.push((await readResponse(outgoing)).status);
      await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: 8 }, callInTurn));
  agent.destroy();
  const byStatus = Map.groupBy(statuses, String);
  return Object.fromEntries([...byStatus].map(([status, of]) => [status, of.length]));
}
