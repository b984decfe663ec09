import { describe, expect, it, vi } from "vitest";
import { readWebhookNames } from "../tasks/submit.js";
import { createWebhookEndpoints, type WebhookEndpoints } from "./endpoints.js";
import type { FindEndpoints, WebhooksOptions } from "./webhook-options.js";

const SECRET = `whsec_${btoa("s".repeat(24))}`;
const ENDPOINT = { url: "https://example.com/hooks", secrets: [SECRET] };

const of = (endpoints: WebhooksOptions["endpoints"], allowHosts?: readonly string[]): WebhookEndpoints =>
  createWebhookEndpoints({ endpoints, allowHosts });

describe("the endpoints that get a message about the end of a task", () => {
  const endpoints = of({ me: { app: ENDPOINT, "audit-log": ENDPOINT }, other: { theirs: ENDPOINT } });
  const read = (header: string | undefined, caller = "me"): Promise<readonly string[]> =>
    readWebhookNames(
      new Headers(header === undefined ? {} : { "x-calotype-webhook": header }),
      caller,
      endpoints,
    );

  it("are all of the caller if the request names none", async () => {
    expect(await read(undefined)).toEqual(["app", "audit-log"]);
    expect(await read(undefined, "other")).toEqual(["theirs"]);
    expect(await read(undefined, "third")).toEqual([]);
  });

  it.each(["audit-log", "  audit-log\t"])("are the one that the request names: %j", async (header) => {
    expect(await read(header)).toEqual(["audit-log"]);
  });

  it.each([
    ["unknown", "unknown"],
    ["of another caller", "theirs"],
    ["empty", ""],
    ["two names", "app, audit-log"],
    ["in another case", "App"],
    ["a URL", "https://example.com/hooks"],
    ["a member of objects", "constructor"],
    ["the prototype", "__proto__"],
  ])("are refused if the name is %s: %j", async (_what, header) => {
    await expect(read(header)).rejects.toMatchObject({
      code: "invalid_request_error",
      status: 400,
      param: "x-calotype-webhook",
      message: `The header x-calotype-webhook must be the name of one webhook endpoint, not ${JSON.stringify(header)}. The names are app, audit-log.`,
    });
  });

  it("are refused with a short message if the name is long", async () => {
    const error: unknown = await read("x".repeat(8_000)).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(`"${"x".repeat(64)}"`);
    expect(String(error).length).toBeLessThan(250);
  });

  it.each(["toString", "__proto__", "constructor"])(
    "are none for a caller with the id %s",
    async (caller) => {
      expect(await read(undefined, caller)).toEqual([]);
    },
  );

  it("are none without the option webhooks, and a name is then refused", async () => {
    expect(await readWebhookNames(new Headers(), "me", undefined)).toEqual([]);
    await expect(
      readWebhookNames(new Headers({ "x-calotype-webhook": "app" }), "me", undefined),
    ).rejects.toMatchObject({
      message:
        'The header x-calotype-webhook must be the name of one webhook endpoint, not "app". There are no webhook endpoints for this API key.',
    });
  });
});

describe("a function that returns the endpoints", () => {
  it("is called with the caller each time, so that a change takes effect at once", async () => {
    const find = vi.fn<FindEndpoints>((caller) => ({ [caller]: ENDPOINT }));
    const endpoints = of(find);
    expect([...(await endpoints.find("a")).keys()]).toEqual(["a"]);
    find.mockResolvedValue({ app: ENDPOINT });
    expect([...(await endpoints.find("b")).keys()]).toEqual(["app"]);
    expect(find.mock.calls).toEqual([["a"], ["b"]]);
  });

  it.each([null, undefined])("may return %s for a caller without endpoints", async (nothing) => {
    expect((await of(() => nothing).find("a")).size).toBe(0);
  });

  it.each([
    ["The result must be an object of endpoints by their names", []],
    ["app must be an object with url and secrets", { app: "https://example.com" }],
    [
      "app.url must be an https address without credentials and fragment",
      { app: { ...ENDPOINT, url: "/hooks" } },
    ],
    [
      "app.url must have a public host, or one that is listed in allowHosts: 10.0.0.1",
      { app: { ...ENDPOINT, url: "https://10.0.0.1/" } },
    ],
    [
      "app.secrets[0] must be whsec_ and the base64 of 24",
      { app: { ...ENDPOINT, secrets: ["whsec_canary"] } },
    ],
  ])("must return endpoints: %s", async (message, found) => {
    const error: unknown = await of(() => found as never)
      .find("a")
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(
      `webhooks.endpoints returned wrong endpoints for the caller "a": ${message}`,
    );
    expect(String(error)).not.toContain("canary");
  });

  it("may throw, and the error arrives unchanged", async () => {
    const error = new Error("the database is down");
    await expect(of(() => Promise.reject(error)).find("a")).rejects.toBe(error);
  });
});

describe("an endpoint", () => {
  it.each([
    ["https://example.com/hooks?a=1", [], true],
    ["https://hooks.internal/", ["Hooks.Internal"], false],
    ["https://hooks.internal/", ["other.internal"], true],
    ["https://10.0.0.1/", ["10.0.0.1"], false],
    ["http://127.0.0.1:8080/", ["127.0.0.1"], false],
  ])(
    "at %s with the allowed hosts %j must have a public address: %s",
    async (url, allowHosts, publicOnly) => {
      const found = await of({ me: { app: { ...ENDPOINT, url } } }, allowHosts).find("me");
      expect(found.get("app")).toMatchObject({ url, publicOnly });
    },
  );
});
