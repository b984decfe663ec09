import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import {
  type Caller,
  createGateway,
  type FailureEvent,
  type GatewayOptions,
  hashApiKey,
} from "@calotype/core";
import type { Fault } from "@calotype/emulator";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { jsonCall, SEEDREAM_BODY } from "./support/image-calls.js";
import { printEveryWay } from "./support/print-every-way.js";
import { sendByFetch } from "./support/send-by-fetch.js";
import { CALLER_KEY, CHANNEL_KEY, SEEDREAM, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";
import { ROOT } from "./support/workspace.js";

/** A secret of a channel in a custom header. */
const HEADER_KEY = "header-canary-9e0d4c71";
const KEYS = { CALLER_KEY, CHANNEL_KEY, HEADER_KEY };

/** The names of the keys in a text. Names, because a failure of the test must not print the keys either. */
const keysIn = (text: string): string[] =>
  Object.entries(KEYS).flatMap(([name, key]) => (text.toLowerCase().includes(key) ? [name] : []));

const providers = useProviders();

// Warnings that Node prints during any of these tests.
const warnings: unknown[] = [];
const keepWarning = (warning: unknown): void => void warnings.push(warning);
beforeAll(() => void process.on("warning", keepWarning));
afterAll(() => void process.off("warning", keepWarning));

/** A gateway with all hooks and a logger, and everything that they got. */
function startWatched(options: Partial<GatewayOptions> = {}) {
  const told: unknown[] = [];
  const tell = (...values: readonly unknown[]): void => void told.push(...values);
  const { gateway } = startGateway(providers(), {
    logger: { warn: tell, error: tell },
    onError: tell,
    onRequest: tell,
    onUsage: tell,
    beforeSend: tell,
    ...options,
  });
  return { gateway, told };
}

/** Options with one channel at this address. */
const channelTo = (baseUrl: string): Partial<GatewayOptions> => ({
  channels: [
    { id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl, headers: { "x-key": HEADER_KEY } },
  ],
  models: { [SEEDREAM]: { family: "seedream" } },
  billing: undefined,
});

describe("the printed form of a gateway", () => {
  it("contains no key, before and after a request", async () => {
    const { gateway } = startWatched(channelTo(providers().server.arkBaseUrl));
    expect(keysIn(printEveryWay(gateway, gateway.status()))).toEqual([]);
    expect((await sendByFetch(gateway, jsonCall(SEEDREAM_BODY))).status).toBe(200);
    expect(keysIn(printEveryWay(gateway, gateway.status()))).toEqual([]);
  });
});

describe("the printed form of a caller", () => {
  it.each<[string, Partial<GatewayOptions>]>([
    ["a key in the options", { callers: [{ id: "me", key: CALLER_KEY }] }],
    ["a hash in the options", { callers: [{ id: "me", hash: hashApiKey(CALLER_KEY) }] }],
    ["authenticate", { callers: undefined, authenticate: () => ({ id: "me" }) }],
  ])("contains neither the key of %s nor its hash", async (_what, options) => {
    const callers: Caller[] = [];
    const { gateway } = startWatched({
      ...options,
      beforeSend: (_request, caller) => void callers.push(caller),
    });
    await sendByFetch(gateway, jsonCall(SEEDREAM_BODY));
    expect(callers).toMatchObject([{ id: "me" }]);
    expect(keysIn(printEveryWay(callers))).toEqual([]);
    expect(printEveryWay(callers)).not.toContain(hashApiKey(CALLER_KEY));
  });
});

const QUOTED = `Incorrect API key provided: ${CHANNEL_KEY}, sent ${HEADER_KEY}.`;

describe("the arguments of hooks and of the logger", () => {
  it.each<[string, Fault]>([
    ["nothing fails", { latencyMs: 0 }],
    ["the provider hangs up", { hangUp: true }],
    ["the provider refuses the key and quotes it", { status: 401, message: QUOTED }],
    ["the provider refuses the request and quotes the key", { status: 400, message: QUOTED }],
    ["the provider fails and quotes the key", { status: 500, message: QUOTED }],
    ["the response is broken", { malformedJson: true }],
  ])("contain no key if %s", async (_what, fault) => {
    const { gateway, told } = startWatched(channelTo(providers().server.arkBaseUrl));
    providers().emulator.faults.add(fault);
    await sendByFetch(gateway, jsonCall(SEEDREAM_BODY));
    expect(told.length).toBeGreaterThan(1);
    expect(keysIn(printEveryWay(...told))).toEqual([]);
  });

  it("contain no key if the provider cannot be reached", async () => {
    const { gateway, told } = startWatched(channelTo("http://127.0.0.1:1/api/v3"));
    expect((await sendByFetch(gateway, jsonCall(SEEDREAM_BODY))).status).toBe(502);
    expect(keysIn(printEveryWay(...told))).toEqual([]);
  });

  it("contain no key if the provider returns the request as its response", async () => {
    const echo = createServer((socket) => socket.on("error", () => undefined).pipe(socket));
    echo.listen(0, "127.0.0.1");
    await once(echo, "listening");
    onTestFinished(() => void echo.close());
    const { port } = echo.address() as AddressInfo;
    const { gateway, told } = startWatched(channelTo(`http://127.0.0.1:${port}/api/v3`));
    expect((await sendByFetch(gateway, jsonCall(SEEDREAM_BODY))).status).toBe(502);
    expect(printEveryWay(...told)).toContain("HTTPParserError");
    expect(keysIn(printEveryWay(...told))).toEqual([]);
  });

  it("contain no key if the operator's own fetch throws its arguments", async () => {
    const { gateway, told } = startWatched({
      ...channelTo(providers().server.arkBaseUrl),
      fetch: (input, init) => {
        const cause = Object.assign(new Error(`${input} ${JSON.stringify(init.headers)}`), { config: init });
        throw Object.assign(new Error(`failed: ${CHANNEL_KEY}`, { cause }), { request: init });
      },
    });
    await sendByFetch(gateway, jsonCall(SEEDREAM_BODY));
    expect(printEveryWay(...told)).toContain("failed: ***");
    expect(keysIn(printEveryWay(...told))).toEqual([]);
  });

  it("contain no key if the operator's own key check fails with the query in its error", async () => {
    const { gateway, told } = startWatched({
      callers: undefined,
      authenticate: (apiKey) => {
        throw Object.assign(new Error(`select * from keys where key = ${apiKey}`), { parameters: [apiKey] });
      },
    });
    const { text } = await sendByFetch(gateway, jsonCall(SEEDREAM_BODY));
    expect(printEveryWay(...told)).toContain("where key = ***");
    expect(keysIn(printEveryWay(...told) + text)).toEqual([]);
  });

  it.each([
    ["as the body", CALLER_KEY],
    ["in a body that is not JSON", `{"key": "${CALLER_KEY}" prompt}`],
  ])("contain no key that a client sends %s", async (_where, body) => {
    const { gateway, told } = startWatched();
    const { status, text } = await sendByFetch(gateway, { ...jsonCall(SEEDREAM_BODY), body });
    expect(status).toBe(400);
    expect(told).toContainEqual(expect.objectContaining<Partial<FailureEvent>>({ error: expect.any(Error) }));
    expect(keysIn(printEveryWay(...told) + text)).toEqual([]);
  });

  it("cause no warning of Node that contains a key", () => {
    expect(keysIn(printEveryWay(...warnings))).toEqual([]);
  });
});

describe("the error about wrong options", () => {
  it.each<[string, Partial<GatewayOptions>]>([
    [
      "a channel's key of two words",
      { channels: [{ id: "a", family: "seedream", apiKey: `${CHANNEL_KEY} b` }] },
    ],
    ["a caller's key of two lines", { callers: [{ id: "me", key: `${CALLER_KEY}\n` }] }],
    ["a key in place of a hash", { callers: [{ id: "me", hash: CALLER_KEY }] }],
    ["a key beside its hash", { callers: [{ id: "me", key: CALLER_KEY, hash: hashApiKey(CALLER_KEY) }] }],
    ["one key of two callers", { callers: ["a", "b"].map((id) => ({ id, key: CALLER_KEY })) }],
    ["a header of two lines", channelWithHeader(`${HEADER_KEY}\n`)],
  ])("contains no key with %s", (_what, options) => {
    const start = () =>
      createGateway({
        models: { [SEEDREAM]: { family: "seedream" } },
        channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY }],
        callers: [{ id: "me", key: CALLER_KEY }],
        ...options,
      });
    expect(start).toThrow("The options of the gateway are wrong");
    expect(keysIn(printEveryWay(errorOf(start)))).toEqual([]);
  });
});

describe("a process with a gateway", () => {
  it.each([
    [
      "ends because of wrong options",
      `channels[0].apiKey += " b"; createGateway({ models, channels, callers });`,
      1,
    ],
    [
      "logs a failure, and ends because of an unhandled rejection",
      `const fetch = (input, init) => { throw Object.assign(new Error(init.headers.authorization), { init }); };
       const gateway = createGateway({ models, channels, callers, fetch, onUsage: () => { throw new Error("full"); } });
       const headers = { authorization: "Bearer " + callers[0].key, "content-type": "application/json" };
       const body = JSON.stringify({ model: "m", prompt: "a kite" });
       const url = "http://localhost/v1/images/generations";
       await gateway.fetch(new Request(url, { method: "POST", headers, body }));
       void Promise.reject(gateway);`,
      1,
    ],
  ])("prints no key if it %s", (_how, script, code) => {
    const { status, stdout, stderr } = runScript(script);
    expect({ status, stdout }).toEqual({ status: code, stdout: "" });
    expect(stderr.length).toBeGreaterThan(100);
    expect(keysIn(stderr)).toEqual([]);
  });
});

/** Runs a script in a separate process, with its keys in the environment. */
function runScript(script: string) {
  const code = `import { createGateway } from "@calotype/core";
    const models = { m: { family: "seedream" } };
    const channels = [{ id: "ark", family: "seedream", apiKey: process.env.CHANNEL_KEY }];
    const callers = [{ id: "me", key: process.env.CALLER_KEY }];
    ${script}`;
  return spawnSync(process.execPath, ["--input-type=module", "--trace-warnings", "--eval", code], {
    cwd: `${ROOT}/packages/conformance`,
    env: { ...process.env, ...KEYS },
    encoding: "utf8",
  });
}

function channelWithHeader(value: string): Partial<GatewayOptions> {
  return { channels: [{ id: "a", family: "seedream", apiKey: CHANNEL_KEY, headers: { "x-key": value } }] };
}

function errorOf(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}
