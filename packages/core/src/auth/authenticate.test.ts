import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { GatewayError } from "../errors.js";
import type { HeaderReader } from "../http.js";
import type { Caller } from "../types.js";
import { hashApiKey } from "./api-key.js";
import {
  type Authenticate,
  type CallerOptions,
  createAuthenticator,
  type FindCaller,
  findByHash,
  findByOperator,
} from "./authenticate.js";

const KEY = "sk-canary-5c1f0e7a";
const HASHED_KEY = "sk-canary-92b7d3e4";
const NOW = Date.parse("2026-11-21T09:30:00Z");
const RULES = { hasBilling: true, canKeepPeriods: true };

const authenticateBy =
  (find: FindCaller, now = () => NOW) =>
  async (header: HeaderReader): Promise<Caller> =>
    createAuthenticator({ find, now, rules: RULES })({ method: "POST", url: "/", headers: header });

const headers = (authorization?: string): Headers =>
  new Headers(authorization === undefined ? {} : { authorization });

const refused: unknown = expect.objectContaining({
  status: 401,
  code: "invalid_api_key",
  type: "authentication_error",
  headers: { "www-authenticate": "Bearer" },
});

describe("keys in the options", () => {
  const authenticate = authenticateBy(
    findByHash([
      { id: "clear", key: KEY, group: "vip", models: ["a*"] },
      { id: "hashed", hash: hashApiKey(HASHED_KEY).toUpperCase() },
    ]),
  );

  it.each([
    ["the key", `Bearer ${KEY}`, { id: "clear", group: "vip", models: ["a*"] }],
    ["the scheme in lower case", `bearer ${KEY}`, { id: "clear" }],
    ["the scheme in upper case, and more spaces", `BEARER   ${KEY}  `, { id: "clear" }],
    ["the key of a hash", `Bearer ${HASHED_KEY}`, { id: "hashed" }],
  ])("admit %s", async (_what, authorization, caller) => {
    await expect(authenticate(headers(authorization))).resolves.toMatchObject(caller);
  });

  it.each([
    ["no header", undefined],
    ["an empty header", ""],
    ["a scheme alone", "Bearer"],
    ["a scheme and a space", "Bearer "],
    ["a key alone", KEY],
    ["another scheme", `Basic ${KEY}`],
    ["a colon after the scheme", `Bearer: ${KEY}`],
    ["a word after the key", `Bearer ${KEY} x`],
    ["two keys", `Bearer ${KEY}, Bearer ${KEY}`],
    ["a key in another case", `Bearer ${KEY.toUpperCase()}`],
    ["a longer key", `Bearer ${KEY}1`],
    ["the hash of the options", `Bearer ${hashApiKey(HASHED_KEY)}`],
    ["the hash of a key in clear", `Bearer ${hashApiKey(KEY)}`],
    ["a name that objects have", "Bearer __proto__"],
  ])("refuse %s", async (_what, authorization) => {
    await expect(authenticate(headers(authorization))).rejects.toEqual(refused);
  });

  it("are read from api-key if there is no Authorization header", async () => {
    await expect(authenticate(new Headers({ "api-key": KEY }))).resolves.toMatchObject({ id: "clear" });
    await expect(authenticate(new Headers({ "api-key": `  ${KEY} ` }))).resolves.toMatchObject({
      id: "clear",
    });
  });

  it.each([
    ["an empty api-key", { "api-key": "" }],
    ["two keys in api-key", { "api-key": `${KEY}, ${KEY}` }],
    ["a scheme in api-key", { "api-key": `Bearer ${KEY}` }],
    ["a wrong api-key", { "api-key": `${KEY}1` }],
    ["an Authorization header with a wrong key", { "api-key": KEY, authorization: `Bearer ${KEY}1` }],
    ["an Authorization header with another scheme", { "api-key": KEY, authorization: "Basic eDp5" }],
    ["an empty Authorization header", { "api-key": KEY, authorization: "" }],
  ])("refuse %s", async (_what, given) => {
    await expect(authenticate(new Headers(given))).rejects.toEqual(refused);
  });

  it("are not part of the caller", async () => {
    await expect(authenticate(headers(`Bearer ${KEY}`))).resolves.toEqual({
      id: "clear",
      group: "vip",
      models: ["a*"],
    });
  });

  it("hash as SHA-256 in hexadecimal", () => {
    expect(hashApiKey("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(hashApiKey("ü")).toMatch(/^[\da-f]{64}$/);
  });
});

const expiring = (expiresAt: CallerOptions["expiresAt"]): Promise<Caller> =>
  authenticateBy(findByHash([{ id: "guest", key: KEY, expiresAt }]))(headers(`Bearer ${KEY}`));

describe("keys that expire", () => {
  it.each([
    ["a millisecond before", "2026-11-21T09:30:00.001Z"],
    ["before, in another zone", "2026-11-21T17:31:00+08:00"],
    ["before, as a Date", new Date(NOW + 1)],
  ])("admit %s", async (_when, expiresAt) => {
    await expect(expiring(expiresAt)).resolves.toEqual({ id: "guest", expiresAt });
  });

  it.each([
    ["at the moment", "2026-11-21T09:30:00Z"],
    ["at the moment, in another zone", "2026-11-21T17:30:00+08:00"],
    ["long after", "1970-01-01T00:00:00Z"],
    ["after, as a Date", new Date(NOW - 1)],
    ["whenever the time cannot be read", "soon"],
  ])("refuse %s", async (_when, expiresAt) => {
    await expect(expiring(expiresAt)).rejects.toEqual(refused);
  });

  it("are reported only to a caller that knows the key", async () => {
    const authenticate = authenticateBy(
      findByHash([{ id: "guest", key: KEY, expiresAt: "2026-11-20T08:00+08:00" }]),
    );
    await expect(authenticate(headers(`Bearer ${KEY}`))).rejects.toThrow(
      "This API key expired at 2026-11-20T00:00:00.000Z.",
    );
    await expect(authenticate(headers(`Bearer ${KEY}1`))).rejects.toThrow(/^Wrong API key\.$/);
  });

  it("expire while the gateway runs", async () => {
    let now = NOW;
    const find = findByHash([{ id: "guest", key: KEY, expiresAt: new Date(NOW + 1000) }]);
    const authenticate = authenticateBy(find, () => now);
    await expect(authenticate(headers(`Bearer ${KEY}`))).resolves.toMatchObject({ id: "guest" });
    now += 1000;
    await expect(authenticate(headers(`Bearer ${KEY}`))).rejects.toEqual(refused);
  });
});

const run = (find: Authenticate): Promise<unknown> =>
  authenticateBy(findByOperator(find, RULES))(headers("Bearer k"));

describe("the operator's function", () => {
  it("gets the key and the headers", async () => {
    const authenticate = authenticateBy(
      findByOperator((key, given) => ({ id: `${key} ${given.get("x-team")}` }), RULES),
    );
    const caller = await authenticate(new Headers({ authorization: "Bearer k", "x-team": "t" }));
    expect(caller).toEqual({ id: "k t" });
  });

  it("may return a promise of another realm", async () => {
    vi.stubGlobal("Promise", class extends Promise<unknown> {});
    onTestFinished(() => void vi.unstubAllGlobals());
    await expect(run(async () => ({ id: "k" }))).resolves.toEqual({ id: "k" });
  });

  it("fails without quoting the key", async () => {
    const database = Object.assign(
      new Error(`no response: where key = ${KEY} or hash = ${hashApiKey(KEY)}`),
      {
        parameters: [KEY],
      },
    );
    const authenticate = authenticateBy(findByOperator(() => Promise.reject(database), RULES));
    const error: unknown = await authenticate(headers(`Bearer ${KEY}`)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: "no response: where key = *** or hash = ***" });
    expect(inspect(error, { depth: Infinity, showHidden: true }).includes(KEY)).toBe(false);
  });

  it.each<[string, Authenticate]>([
    ["at once", () => ({ id: "me" })],
    ["later", async () => ({ id: "me" })],
  ])("may return %s", async (_when, find) => {
    await expect(run(find)).resolves.toEqual({ id: "me" });
  });

  it.each<[string, Authenticate]>([
    ["null", () => null],
    ["undefined", () => undefined],
    ["null later", async () => null],
  ])("refuses the key with %s", async (_what, find) => {
    await expect(run(find)).rejects.toEqual(refused);
  });

  it("may throw a GatewayError of its own", async () => {
    const error = new GatewayError("model_not_allowed", "Drafts only.");
    await expect(
      run(() => {
        throw error;
      }),
    ).rejects.toBe(error);
    await expect(run(() => Promise.reject(error))).rejects.toBe(error);
  });

  it("may return a key that expires", async () => {
    await expect(run(() => ({ id: "me", expiresAt: new Date(NOW + 1) }))).resolves.toMatchObject({
      id: "me",
    });
    await expect(run(() => ({ id: "me", expiresAt: new Date(NOW) }))).rejects.toEqual(refused);
  });

  it("fails for a caller that cannot be charged or whose limits cannot be read", async () => {
    await expect(run(() => ({}) as Caller)).rejects.toThrow(TypeError);
    await expect(run(() => ({ id: "me", budget: "-1" }))).rejects.toThrow(/budget/);
  });

  it("is not called if no key was sent", async () => {
    let asked = 0;
    const authenticate = authenticateBy(
      findByOperator(() => {
        asked++;
        return { id: "me" };
      }, RULES),
    );
    await expect(authenticate(headers())).rejects.toEqual(refused);
    expect(asked).toBe(0);
  });
});
