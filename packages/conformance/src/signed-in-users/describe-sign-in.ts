import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { GatewayOptions, UsageRecord } from "@calotype/core";
import OpenAI, { AuthenticationError } from "openai";
import sharp from "sharp";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { open, responseTo, send } from "../support/http-client.js";
import { GENERATIONS, SEEDREAM_BODY } from "../support/image-calls.js";
import { CALLER_KEY, type Providers, SEEDREAM, startGateway } from "../support/test-gateway.js";
import { readString } from "./clients.js";
import type { CookieJar } from "./cookie-jar.js";
import type { AppSetup, SignInApp } from "./sign-in-app.js";

type Seen = NonNullable<AppSetup["seen"]>;

const EVIL = "https://evil.example";

/** Describes an app whose signed-in users are callers of its gateway, over sockets. */
export function describeSignIn(app: SignInApp, providers: () => Providers): void {
  const { host, library, client, hasParser } = app;
  const start = async (setup?: AppSetup, options: Partial<GatewayOptions> = {}) => {
    const test = startGateway(providers(), options);
    const { url, close } = await app.open(test.gateway, setup);
    onTestFinished(close);
    return { ...test, url, sent: () => providers().emulator.requests.length };
  };

  describe(`${library} on ${host}`, () => {
    it("a signed-in user needs no key, and pays for the images", async () => {
      const { url, records } = await start();
      const { id, jar } = await client.signIn(url, "ada");
      const response = await post(jar, url, SEEDREAM_BODY);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ data: [{ url: expect.stringContaining("http") }] });
      expect(records).toMatchObject([{ caller: `user:${id}`, charge: "0.03" }]);
    });

    it("a user who is not signed in, or has signed out, gets a 401", async () => {
      const { url, sent } = await start();
      const user = await client.signIn(url, "ada");
      const cookies = user.jar.header;
      await client.signOut(url, user);
      expect(await errorOf(await post(user.jar, url, SEEDREAM_BODY))).toEqual([401, "not_signed_in"]);
      // Not the last letter: some of its bits are not part of the signature.
      const forged = cookies.replace(/[a-z\d](?=[^a-z\d]*.{10}$)/i, (letter) => (letter === "x" ? "y" : "x"));
      const call = {
        path: GENERATIONS,
        headers: { cookie: forged, "sec-fetch-site": "same-origin" },
        body: "{}",
      };
      expect(await send(url, call)).toMatchObject({
        status: 401,
        text: expect.stringContaining("not_signed_in"),
      });
      expect(sent()).toBe(0);
    });

    it("every route knows the user: models, tasks and edits", async () => {
      const { url, records } = await start();
      const { id, jar } = await client.signIn(url, "ada");
      const other = await client.signIn(url, "eve");
      expect((await jar.send(`${url}/v1/models`)).status).toBe(200);
      const submitted = await post(jar, url, SEEDREAM_BODY, { prefer: "respond-async" });
      const task = await readString(submitted, "id");
      const read = await jar.send(`${url}/v1/images/tasks/${task}?wait=20`);
      expect(await read.json()).toMatchObject({ status: "completed", result: { data: [{}] } });
      expect(await errorOf(await other.jar.send(`${url}/v1/images/tasks/${task}`))).toEqual([
        404,
        "task_not_found",
      ]);
      expect((await edit(jar, url, await drawNoise(64))).status).toBe(200);
      expect(records.map(({ caller }) => caller)).toEqual([`user:${id}`, `user:${id}`]);
    });

    it("no byte of an upload is lost while the app looks for its user", async () => {
      const { url, records } = await start({ seen: (id = "") => setTimeout(150, { id }) });
      const { id, jar } = await client.signIn(url, "ada");
      const image = await drawNoise(1_200);
      expect(image.length).toBeGreaterThan(4_000_000);
      const response = await edit(jar, url, image);
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("http")]);
      expect(uploadedBytes(providers())).toBe(image.length);
      expect(records).toMatchObject([{ caller: `user:${id}`, operation: "edit" }]);
    });

    it("a session that ends during a stream does not end the stream, but the next request", async () => {
      const { url, records } = await start();
      const user = await client.signIn(url, "ada");
      const cookies = user.jar.header;
      const outgoing = open(url, { path: GENERATIONS, headers: pageHeaders(cookies) });
      outgoing.end(JSON.stringify({ ...SEEDREAM_BODY, n: 3, stream: true }));
      const stream = await responseTo(outgoing);
      expect(stream.statusCode).toBe(200);
      let events = "";
      for await (const chunk of stream.setEncoding("utf8")) {
        if (events === "") await client.signOut(url, user);
        events += chunk;
      }
      expect(events.match(/image_generation\.partial_succeeded/g)).toHaveLength(6);
      expect(events).toContain("[DONE]");
      expect(records).toMatchObject([{ caller: `user:${user.id}`, images: 3, charge: "0.09" }]);
      expect(await errorOf(await post(user.jar, url, SEEDREAM_BODY))).toEqual([401, "not_signed_in"]);
    });

    it("a key is used also beside a cookie, and a wrong one is never replaced by the user", async () => {
      const seen = vi.fn<Seen>(async (id = "") => ({ id }));
      const { url, records, sent } = await start({ seen });
      const { jar } = await client.signIn(url, "ada");
      for (const [name, value] of [
        ["authorization", "Bearer wrong"],
        ["api-key", "wrong"],
        ["authorization", ""],
      ] as const) {
        const call = {
          path: GENERATIONS,
          headers: { ...pageHeaders(jar.header), [name]: value },
          body: "{}",
        };
        expect(await send(url, call)).toMatchObject({
          status: 401,
          text: expect.stringContaining("invalid_api_key"),
        });
      }
      expect(sent()).toBe(0);
      const withKey = await post(jar, url, SEEDREAM_BODY, { authorization: `Bearer ${CALLER_KEY}` });
      expect(withKey.status).toBe(200);
      expect(records).toMatchObject([{ caller: "tester" }]);
      expect(seen).not.toHaveBeenCalled();
    });

    it("OpenAI's client works with a key on the same mount", async () => {
      const { url, records } = await start();
      const openai = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
      const { data } = await openai(CALLER_KEY).images.generate({
        model: SEEDREAM,
        prompt: "a fox",
        size: "1K",
      });
      expect(data).toHaveLength(1);
      expect(records).toMatchObject([{ caller: "tester" }]);
      await expect(openai("wrong").models.list()).rejects.toThrow(AuthenticationError);
    });

    it("a page of another site is refused before the app looks for its user", async () => {
      const seen = vi.fn<Seen>(async (id = "") => ({ id }));
      const { url, sent } = await start({ seen });
      const { jar } = await client.signIn(url, "ada");
      for (const headers of [
        { origin: EVIL, "sec-fetch-site": "cross-site" },
        { origin: EVIL },
        { origin: "null" },
        { "sec-fetch-site": "same-site", origin: "http://evil.127.0.0.1" },
        { "sec-fetch-site": "none" },
        {},
      ]) {
        const call = {
          path: GENERATIONS,
          headers: { cookie: jar.header, ...headers },
          body: JSON.stringify(SEEDREAM_BODY),
        };
        expect(await send(url, call)).toMatchObject({
          status: 403,
          text: expect.stringContaining("cross_site_request"),
        });
      }
      expect(seen).not.toHaveBeenCalled();
      expect(sent()).toBe(0);
      // Without Sec-Fetch-Site, as from a page without TLS.
      const own = {
        path: GENERATIONS,
        headers: { cookie: jar.header, "content-type": "application/json", origin: new URL(url).origin },
      };
      expect(await send(url, { ...own, body: JSON.stringify(SEEDREAM_BODY) })).toMatchObject({ status: 200 });
    });

    it("a function that fails is a 500, and nothing is sent", async () => {
      const { url, sent } = await start({ seen: () => Promise.reject(new Error("no database")) });
      const { jar } = await client.signIn(url, "ada");
      const response = await post(jar, url, SEEDREAM_BODY);
      expect(response.status).toBe(500);
      expect(await response.text()).toContain("The option caller");
      expect(sent()).toBe(0);
    });

    if (!hasParser) return;
    it("a body parser may run before the gateway", async () => {
      const { url, records } = await start({ parsesBodies: true });
      const { id, jar } = await client.signIn(url, "ada");
      expect((await post(jar, url, SEEDREAM_BODY)).status).toBe(200);
      expect((await edit(jar, url, await drawNoise(64))).status).toBe(200);
      expect(records.map(({ caller }: UsageRecord) => caller)).toEqual([`user:${id}`, `user:${id}`]);
    });
  });
}

/** A PNG that compression does not make smaller. */
function drawNoise(side: number): Promise<Buffer> {
  const raw = { width: side, height: side, channels: 3 } as const;
  return sharp(randomBytes(side * side * 3), { raw })
    .png({ compressionLevel: 0 })
    .toBuffer();
}

const pageHeaders = (cookie: string) => ({
  cookie,
  "content-type": "application/json",
  "sec-fetch-site": "same-origin",
});

function post(
  jar: CookieJar,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return jar.send(url + GENERATIONS, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

function edit(jar: CookieJar, url: string, image: Buffer): Promise<Response> {
  const body = new FormData();
  body.set("model", SEEDREAM);
  body.set("prompt", "a hat");
  body.set("image", new Blob([new Uint8Array(image)], { type: "image/png" }), "image.png");
  return jar.send(`${url}/v1/images/edits`, { method: "POST", body });
}

async function errorOf(response: Response): Promise<readonly [number, string]> {
  return [response.status, await readString(response, "code")];
}

/** The bytes of the only image that the provider got. */
function uploadedBytes({ emulator }: Providers): number {
  const [, base64 = ""] =
    /"data:image\/png;base64,([^"]*)"/.exec(JSON.stringify(emulator.requests[0]?.body)) ?? [];
  return Buffer.from(base64, "base64").length;
}
