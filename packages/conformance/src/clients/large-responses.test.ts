import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { createOpenAI } from "@ai-sdk/openai";
import { generateImage } from "ai";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type InTheMiddle, inFrontOf, startLargeProvider } from "../support/large-provider.js";
import { startProviders } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { curlIsMissing, openShell, type Shell } from "./support/curl.js";
import { failureOf } from "./support/failure-of.js";
import { decode } from "./support/images.js";
import { CALLER_KEY, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders();
const ASK = { model: SEEDREAM, prompt: "four kites", n: 4, response_format: "b64_json" } as const;

/** Four images of 4 MB, the provider that makes them, and a gateway. */
async function start(inTheMiddle: InTheMiddle = "goes on") {
  const originals = Array.from({ length: 4 }, () => randomBytes(4 * 1024 * 1024));
  const provider = await startLargeProvider(
    inTheMiddle,
    originals.map((original) => original.toString("base64")),
  );
  const { url, records } = await serve(providers(), inFrontOf(provider));
  return { baseURL: `${url}/v1`, url, records, originals };
}

const connect = (baseURL: string) => new OpenAI({ baseURL, apiKey: CALLER_KEY, maxRetries: 0 });

/** Not `toEqual`, which would print the whole difference. */
function areEqual(originals: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return (
    originals.length === others.length &&
    originals.every((one, at) => Buffer.compare(one, others[at] ?? one) === 0)
  );
}

const CHARGED = [{ status: 200, images: 4, charge: "0.12" }];

describe("four images of 4 MB in one response", () => {
  it("reach the openai client completely", async () => {
    const { baseURL, originals, records } = await start();
    const { data = [], usage } = await connect(baseURL).images.generate(ASK);
    expect(
      areEqual(
        data.map(({ b64_json = "" }) => Buffer.from(b64_json, "base64")),
        originals,
      ),
    ).toBe(true);
    expect(usage).toMatchObject({ output_tokens: 4 * 4_096 });
    expect(records).toMatchObject(CHARGED);
  });

  it("reach the AI SDK completely", async () => {
    const { baseURL, originals, records } = await start();
    const model = createOpenAI({ baseURL, apiKey: CALLER_KEY }).image(SEEDREAM);
    const { images } = await generateImage({ model, prompt: "four kites", n: 4, maxImagesPerCall: 4 });
    expect(
      areEqual(
        images.map(({ uint8Array }) => uint8Array),
        originals,
      ),
    ).toBe(true);
    expect(records).toMatchObject(CHARGED);
  });

  it("are an error for the openai client if the response breaks off, and cost nothing", async () => {
    const { baseURL, records } = await start("breaks off");
    const error = await failureOf(connect(baseURL).images.generate(ASK));
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(SyntaxError);
    expect(records).toMatchObject([{ images: 0, charge: "0", errorCode: "upstream_invalid_response" }]);
  });

  it("are charged if they take longer than the openai client waits", async () => {
    const { baseURL, records } = await start(400);
    const leaving = new AbortController();
    const response = failureOf(connect(baseURL).images.generate(ASK, { signal: leaving.signal }));
    setTimeout(() => leaving.abort(), 150);
    expect(await response).toBeInstanceOf(Error);
    await vi.waitFor(() => expect(records).toMatchObject(CHARGED));
  });

  it.skipIf(curlIsMissing)("are charged if they take longer than curl waits", async () => {
    const { url, records } = await start(1_200);
    const shell = openShell({ BASE_URL: url, API_KEY: CALLER_KEY });
    const { exitCode, bytes } = await cutOff(shell, 0.8);
    // Exit code 28: a timeout, in the middle of the response.
    expect(exitCode).toBe(28);
    expect(bytes).toBeGreaterThan(1_000_000);
    await vi.waitFor(() => expect(records).toMatchObject(CHARGED));
  });
});

/** The bytes that curl got before its timeout. */
async function cutOff({ start: run }: Shell, seconds: number) {
  const shell = run(String.raw`curl --max-time ${seconds} "$BASE_URL/v1/images/generations" \
  -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d '${JSON.stringify(ASK)}'`);
  const closed = once(shell, "close");
  const { length } = await buffer(shell.stdout);
  const [exitCode] = await closed;
  return { bytes: length, exitCode };
}

/** The first image of an emulator that always draws the same image. */
async function draw(response_format: "url" | "b64_json") {
  const same = await startProviders({ images: "full", seed: 7 });
  onTestFinished(() => same.server.close());
  const { url } = await serve(same);
  const { data = [] } = await connect(`${url}/v1`).images.generate({
    model: SEEDREAM,
    prompt: "a kite",
    response_format,
  });
  return data;
}

describe("a full-size image of the emulator", () => {
  it("is the same in base64 as at its link", async () => {
    const linked = await Promise.all(
      (await draw("url")).map(async ({ url = "" }) => Buffer.from(await (await fetch(url)).arrayBuffer())),
    );
    const carried = (await draw("b64_json")).map(({ b64_json = "" }) => Buffer.from(b64_json, "base64"));

    expect(carried.map(({ length }) => length)).toSatisfy(
      (lengths: number[]) => Math.min(...lengths) > 64 * 1024,
    );
    expect(areEqual(carried, linked)).toBe(true);
    for (const image of carried) expect(await decode(image)).toMatchObject({ format: "jpeg" });
  });
});
