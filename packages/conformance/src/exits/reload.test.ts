import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, type TestContext, vi } from "vitest";
import { CALLER_HEADERS, GENERATIONS, SEEDREAM_BODY } from "../support/image-calls.js";
import { type ServerProcess, spawnServer } from "../support/spawn-server.js";
import { CALLER_KEY } from "../support/test-names.js";
import { useProviders } from "../support/use-providers.js";
import type { ClosingPlan } from "./closing-server.js";

/* What a server process does with SIGHUP, and with a file of options that changes. */

const providers = useProviders({ images: "tiny" });

/** The machine may be busy. */
const PATIENT = { timeout: 15_000, interval: 50 };

const OLD = CALLER_KEY;
const NEW = "caller-canary-9be21c04";

type Afterwards = TestContext["onTestFinished"];

async function start(
  plan: Partial<ClosingPlan> = {},
  afterwards: Afterwards = onTestFinished,
): Promise<ServerProcess> {
  const server = spawnServer<ClosingPlan>(new URL("closing-server.ts", import.meta.url));
  afterwards(() => server.kill());
  return server.start({ arkBaseUrl: providers().server.arkBaseUrl, ...plan });
}

const callersWith = (key: string): string => JSON.stringify([{ id: "tester", key }]);

/** Starts a server whose callers are in a file. Tests that run at the same time pass their own `afterwards`. */
async function startWithFile({ watches = false, afterwards = onTestFinished } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "calotype-reload-"));
  afterwards(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "callers.json");
  writeFileSync(file, callersWith(OLD));
  const server = await start({ callersFile: file, watches }, afterwards);
  const statusOf = async (key: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(new URL("/v1/models", server.url), { headers })).status;
  };
  expect(await statusOf(OLD)).toBe(200);
  return { file, server, statusOf };
}

/** Waits until the new key is valid and the old one is not. */
async function untilReloaded(statusOf: (key: string) => Promise<number>): Promise<void> {
  await vi.waitFor(
    async () => expect([await statusOf(NEW), await statusOf(OLD)]).toEqual([200, 401]),
    PATIENT,
  );
}

const callImage = async ({ url }: ServerProcess): Promise<number> => {
  return (
    await fetch(new URL(GENERATIONS, url), {
      method: "POST",
      headers: CALLER_HEADERS,
      body: JSON.stringify(SEEDREAM_BODY),
    })
  ).status;
};
const untilReceived = (): Promise<void> =>
  vi.waitFor(() => expect(providers().emulator.requests.length).toBeGreaterThan(0), PATIENT);

it("SIGHUP closes a server without options that can be reloaded, and a second SIGHUP does not cut it off", async () => {
  providers().emulator.faults.add({ latencyMs: 500 });
  const server = await start();
  const called = callImage(server);
  await untilReceived();

  server.signal("SIGHUP");
  const again = setInterval(() => server.signal("SIGHUP"), 20);
  await server.ended;
  clearInterval(again);

  expect({ called: await called, errors: server.errors() }).toEqual({ called: 200, errors: ["closed"] });
});

it("SIGHUP reloads options of files, and the server goes on", async () => {
  const { file, server, statusOf } = await startWithFile();
  writeFileSync(file, callersWith(NEW));
  expect(await statusOf(NEW)).toBe(401);

  server.signal("SIGHUP");

  await untilReloaded(statusOf);
  expect({ code: await server.stop(), errors: server.errors() }).toEqual({ code: 0, errors: ["closed"] });
});

it("SIGHUP with a wrong file prints the error once, and the old options stay", async () => {
  const { file, server, statusOf } = await startWithFile();
  writeFileSync(file, '[{ "id": "tester" ');

  server.signal("SIGHUP");

  await vi.waitFor(() => expect(server.errors().join("\n")).toContain("callers.json is not JSON"), PATIENT);
  expect(await statusOf(OLD)).toBe(200);
  expect(server.errors()).toHaveLength(1);
});

it("SIGHUP while a server closes changes nothing", async () => {
  providers().emulator.faults.add({ latencyMs: 500 });
  const { server } = await startWithFile();
  const called = callImage(server);
  await untilReceived();

  const stopped = server.stop();
  server.signal("SIGHUP");

  expect({ code: await stopped, called: await called }).toEqual({ code: 0, called: 200 });
});

it.concurrent.for<[string, (file: string) => void]>([
  ["is written in place", (file) => writeFileSync(file, callersWith(NEW))],
  [
    "is replaced by another file",
    (file) => {
      writeFileSync(`${file}.new`, callersWith(NEW));
      renameSync(`${file}.new`, file);
    },
  ],
  [
    "becomes a link to another file",
    (file) => {
      writeFileSync(`${file}.new`, callersWith(NEW));
      symlinkSync(`${file}.new`, `${file}.link`);
      renameSync(`${file}.link`, file);
    },
  ],
])("a watched file that %s is read again by itself", async ([, change], { onTestFinished: afterwards }) => {
  const { file, server, statusOf } = await startWithFile({ watches: true, afterwards });

  change(file);

  await untilReloaded(statusOf);
  expect({ code: await server.stop(), errors: server.errors() }).toEqual({ code: 0, errors: ["closed"] });
});

it.concurrent.for<[string, (file: string) => void]>([
  ["half written", (file) => writeFileSync(file, '[{ "id": "tester", "key')],
  ["wrong", (file) => writeFileSync(file, JSON.stringify([{ id: "tester", kye: "k" }]))],
  ["removed", (file) => rmSync(file)],
])(
  "a watched file that is %s changes nothing, is logged once, and is read when it is right",
  async ([, damage], { onTestFinished: afterwards }) => {
    const { file, server, statusOf } = await startWithFile({ watches: true, afterwards });

    damage(file);
    await vi.waitFor(() => expect(server.errors()).toHaveLength(1), PATIENT);
    // Long enough for several more looks at the file.
    await new Promise((resolve) => setTimeout(resolve, 2_000));

    expect(server.errors()).toEqual([expect.stringContaining("keeps those that it has")]);
    expect(await statusOf(OLD)).toBe(200);
    writeFileSync(file, callersWith(NEW));
    await untilReloaded(statusOf);
  },
);
