import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jsonFile } from "@calotype/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "./clients/support/serve.js";
import { send } from "./support/http-client.js";
import { CALLER_KEY, SEEDREAM } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const providers = useProviders();
const priceOf = (model_price: string) => ({ "*": { pricing_mode: "per-request", model_price } });
const NEW_KEY = "caller-canary-5be0d3c1";

/** A folder with files of options. */
function openFolder() {
  const folder = mkdtempSync(join(tmpdir(), "calotype-reload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return {
    path: (name: string): string => join(folder, name),
    write: (name: string, value: unknown): void =>
      writeFileSync(join(folder, name), typeof value === "string" ? value : JSON.stringify(value)),
  };
}

async function start() {
  const { path, write } = openFolder();
  write("keys.json", [{ id: "tester", key: CALLER_KEY }]);
  write("prices.json", priceOf("0.1"));
  const served = await serve(providers(), {
    callers: jsonFile(path("keys.json")),
    billing: { model_details: jsonFile(path("prices.json")) },
  });
  const call = async (key = CALLER_KEY): Promise<number> => {
    const { status } = await send(served.url, {
      path: "/v1/images/generations",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: SEEDREAM, prompt: "a fox" }),
    });
    return status;
  };
  return { ...served, write, call };
}

describe("options in JSON files", () => {
  it("take effect at a reload, and a request in progress is charged at the earlier price", async () => {
    const { gateway, records, write, call } = await start();
    expect(await call()).toBe(200);
    providers().emulator.faults.add({ latencyMs: 200, times: 1 });
    const underWay = call();
    await expect.poll(() => providers().emulator.requests.length).toBe(2);

    write("keys.json", [{ id: "other", key: NEW_KEY }]);
    write("prices.json", priceOf("0.7"));
    expect(await call(NEW_KEY)).toBe(401);
    await gateway.reload();

    expect([await call(), await call(NEW_KEY), await underWay]).toEqual([401, 200, 200]);
    expect(records.map(({ caller, charge }) => `${caller} ${charge}`).toSorted(compare)).toEqual([
      "other 0.7",
      "tester 0.1",
      "tester 0.1",
    ]);
  });

  it.each<[string, unknown, RegExp]>([
    ["no JSON", '[{"id": "tester", "key": "caller-canary', /keys\.json is not JSON/],
    ["empty", "", /keys\.json is empty/],
    ["of wrong keys", [{ id: "tester", key: "a key with spaces" }], /callers\[0\]\.key must be letters/],
    ["of unknown options", [{ id: "tester", key: "k", limit: 5 }], /callers\[0\]\.limit is not an option/],
  ])(
    "change nothing if they are wrong, and the reload reports the reason: %s",
    async (_what, content, message) => {
      const { gateway, write, call } = await start();
      expect(await call()).toBe(200);
      write("keys.json", content);
      const failure: unknown = await gateway.reload().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Error);
      expect(String(failure)).toMatch(message);
      expect(String(failure)).not.toContain("canary");
      expect(await call()).toBe(200);
    },
  );
});

function compare(one: string, other: string): number {
  return one < other ? -1 : 1;
}
