import { describe, expect, it } from "vitest";
import { GatewayError } from "../errors.js";
import type { Caller } from "../image-request.js";
import { type Authenticate, createAuthenticator, findByHash, hashApiKey } from "./authenticate.js";

const headers = (authorization?: string): Headers =>
  new Headers(authorization === undefined ? {} : { authorization });

const refused: unknown = expect.objectContaining({
  status: 401,
  code: "invalid_api_key",
  type: "authentication_error",
  headers: { "www-authenticate": "Bearer" },
});

describe("keys in the options", () => {
  const authenticate = createAuthenticator(
    findByHash([
      { id: "clear", key: "sk-clear", group: "vip", models: ["a*"] },
      { id: "hashed", hash: hashApiKey("sk-hashed").toUpperCase() },
    ]),
  );

  it.each([
    ["Bearer sk-clear", { id: "clear", group: "vip", models: ["a*"] }],
    ["bearer sk-clear", { id: "clear" }],
    ["BEARER   sk-clear  ", { id: "clear" }],
    ["Bearer sk-hashed", { id: "hashed" }],
  ])("let %j in", async (authorization, caller) => {
    await expect(authenticate(headers(authorization))).resolves.toMatchObject(caller);
  });

  it.each([
    undefined,
    "",
    "Bearer",
    "Bearer ",
    "sk-clear",
    "Basic sk-clear",
    "Bearer: sk-clear",
    "Bearer sk-clear x",
    "Bearer sk-clear, Bearer sk-clear",
    "Bearer SK-CLEAR",
    "Bearer sk-clear1",
    `Bearer ${hashApiKey("sk-hashed")}`,
    `Bearer ${hashApiKey("sk-clear")}`,
    "Bearer __proto__",
  ])("keep %j out", async (authorization) => {
    await expect(authenticate(headers(authorization))).rejects.toEqual(refused);
  });

  it("are not part of the caller", async () => {
    await expect(authenticate(headers("Bearer sk-clear"))).resolves.toEqual({
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

const run = (find: Authenticate): Promise<unknown> => createAuthenticator(find)(headers("Bearer k"));

describe("the operator's function", () => {
  it("is given the key and the headers", async () => {
    const caller = await createAuthenticator((key, given) => ({ id: `${key} ${given.get("x-team")}` }))(
      new Headers({ authorization: "Bearer k", "x-team": "t" }),
    );
    expect(caller).toEqual({ id: "k t" });
  });

  it.each<[string, Authenticate]>([
    ["at once", () => ({ id: "me" })],
    ["later", async () => ({ id: "me" })],
  ])("may answer %s", async (_when, find) => {
    await expect(run(find)).resolves.toEqual({ id: "me" });
  });

  it.each<[string, Authenticate]>([
    ["null", () => null],
    ["undefined", () => undefined],
    ["null later", async () => null],
  ])("keeps out with %s", async (_what, find) => {
    await expect(run(find)).rejects.toEqual(refused);
  });

  it("passes its own errors on", async () => {
    const error = new GatewayError("model_not_allowed", "Drafts only.");
    await expect(
      run(() => {
        throw error;
      }),
    ).rejects.toBe(error);
    await expect(run(() => Promise.reject(error))).rejects.toBe(error);
  });

  it.each([{}, { id: "" }, { id: 7 }])(
    "fails with the caller %j, who could not be charged",
    async (caller) => {
      await expect(run(() => caller as Caller)).rejects.toThrow("without id");
    },
  );

  it("is not asked where no key came", async () => {
    let asked = 0;
    const authenticate = createAuthenticator(() => {
      asked++;
      return { id: "me" };
    });
    await expect(authenticate(headers())).rejects.toEqual(refused);
    expect(asked).toBe(0);
  });
});
