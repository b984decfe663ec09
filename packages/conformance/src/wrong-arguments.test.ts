import { createGateway } from "@calotype/core";
import { toExpressHandler } from "@calotype/express";
import { toKoaMiddleware } from "@calotype/koa";
import { toNextHandlers } from "@calotype/next";
import { closeOnSignals, createFileStore, toFastifyHook, toNodeHandler } from "@calotype/node";
import { createTelemetry } from "@calotype/opentelemetry";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { createStudio } from "@calotype/studio";
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";

/* What a user of JavaScript, without the compiler, may pass by mistake. */

const create = (): ReturnType<typeof createGateway> =>
  createGateway({
    models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "any" }],
    callers: [{ id: "me", key: "sk-local" }],
  });

describe.each([
  ["toExpressHandler", toExpressHandler],
  ["toKoaMiddleware", toKoaMiddleware],
  ["toNodeHandler", toNodeHandler],
  ["toFastifyHook", toFastifyHook],
  ["toNextHandlers", toNextHandlers],
])("%s", (name, mount: (gateway: never, options?: never) => unknown) => {
  const needs = `${name} needs the gateway that createGateway returned, or a studio. It got`;

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a promise: await it first", Promise.resolve(create())],
  ])("refuses %s at startup", (mistake, value) => {
    expect(() => mount(value as never)).toThrow(new TypeError(`${needs} ${mistake}.`));
  });

  it.each<[string, object]>([
    [`${name} has no option callers. Its options are caller.`, { callers: () => null }],
    [
      `The option caller of ${name} must be a function that returns a caller or null.`,
      { caller: { id: "me" } },
    ],
    [`${name} needs an object of options.`, "caller" as never],
  ])("refuses at startup: %s", (mistake, options) => {
    expect(() => mount(create() as never, options as never)).toThrow(new TypeError(mistake));
  });

  it("accepts a gateway, a studio, and a proxy of a gateway, of which it reads nothing", () => {
    const gateway = create();
    const proxy = new Proxy(
      {},
      {
        get() {
          throw new Error("The gateway is not created yet.");
        },
      },
    );
    for (const mounted of [gateway, createStudio(gateway), proxy])
      expect(mount(mounted as never)).toBeDefined();
  });
});

it("toNextHandlers checks what its function returns", async () => {
  const { GET } = toNextHandlers(() => undefined as never);

  await expect(GET(new Request("http://localhost/ai/v1/models"), {})).rejects.toThrow("It got undefined.");
});

it("a hook of Fastify that is registered as a plugin says how to mount it", async () => {
  const app = fastify().register(toFastifyHook(create()) as never);

  await expect(app.ready()).rejects.toThrow(
    'toFastifyHook makes a hook: mount it with app.addHook("onRequest", …), not with app.register.',
  );
});

describe("options", () => {
  const server = { close: () => undefined };

  it.each<[string, () => unknown]>([
    [
      "createStudio has no option authorise.",
      () => createStudio(create(), { authorise: () => false } as never),
    ],
    [
      "authorize of the studio must be a function.",
      () => createStudio(create(), { authorize: "admin" as never }),
    ],
    [
      "caller of the studio must be the id of a caller",
      () => createStudio(create(), { caller: {} as never }),
    ],
    ["createStudio needs the gateway", () => createStudio(undefined as never)],
    [
      "closeOnSignals has no option deadline.",
      () => closeOnSignals(server, create(), { deadline: 5 } as never),
    ],
    ["createFileStore has no option ttl.", () => createFileStore({ directory: "a", ttl: 1 } as never)],
    ["createTelemetry has no option recordPrompt.", () => createTelemetry({ recordPrompt: true } as never)],
    ["createSqliteLedger has no option file.", () => createSqliteLedger({ file: "a.db" } as never)],
    ["createSqliteLedger needs the path of a file; is the", () => createSqliteLedger({ path: "" })],
    ["createPostgresLedger has no option url.", () => createPostgresLedger({ url: "postgres://" } as never)],
    ["pool must be a Pool of pg", () => createPostgresLedger({ pool: "postgres://" as never })],
  ])("%s", (message, run) => {
    expect(run).toThrow(message);
  });
});
