import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  CALLER_KEY,
  EDITS,
  GENERATIONS,
  QWEN_IMAGE,
  readResponse,
  SEEDREAM,
  type ServedGateway,
  toInit,
} from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch } from "../expect.ts";
import { createBitmap } from "./create-bitmap.ts";

const SHOP = "https://shop.example";
const DASHSCOPE = "/api/v1/services/aigc/multimodal-generation/generation";
const BODY = { model: SEEDREAM, prompt: "a fox", size: "1K" };
const INPUT = { messages: [{ role: "user", content: [{ text: "a fox" }] }] };
const IMAGE = { data: [{ url: /^http/ }] };
const WITH_KEY = { authorization: `Bearer ${CALLER_KEY}` };

/** A request with more headers. */
function withHeaders(init: RequestInit, headers: Readonly<Record<string, string>>): RequestInit {
  return { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers } };
}

/** The first piece of a stream. */
async function readFirst(response: Response): Promise<string> {
  const { value } = (await response.body?.getReader().read()) ?? {};
  return new TextDecoder().decode(value);
}

async function expectReadable(
  { send }: ServedGateway,
  [what, init, status]: readonly [what: string, init: RequestInit, status: number],
): Promise<void> {
  const response = await send(GENERATIONS, withHeaders(init, { origin: SHOP }));
  await response.text();
  expectMatch(response.status, status, `status of ${what}`);
  expectMatch(response.headers.get("access-control-allow-origin"), SHOP, `origin of ${what}`);
  expectMatch(response.headers.get("access-control-expose-headers"), /x-request-id/, `headers of ${what}`);
}

/** What existing clients and web pages need. */
export const clients: readonly Check[] = [
  {
    name: "lists the models that a caller may use, and finds one by an encoded name",
    async run({ serve, addresses }) {
      const { send } = serve({
        models: { "team/poster": { family: "seedream" } },
        channels: [{ id: "ark", family: "seedream", apiKey: "k", baseUrl: `${addresses.emulator}/api/v3` }],
        billing: undefined,
      });
      const get = { method: "GET", headers: WITH_KEY };
      const all = { object: "list", data: [{ id: "team/poster", owned_by: "seedream" }] };
      expectMatch(await readResponse(await send("/v1/models", get)), { status: 200, body: all });
      for (const path of ["/v1/models/team%2Fposter", "/v1/models/team/poster"]) {
        expectMatch(await readResponse(await send(path, get)), { status: 200, body: { id: "team/poster" } });
      }
      const unknown = { status: 404, body: { error: { code: "model_not_found" } } };
      expectMatch(await readResponse(await send("/v1/models/x", get)), unknown);
      const head = await readResponse(await send("/v1/models", { ...get, method: "HEAD" }));
      expectMatch(head, { status: 200, text: "" });
    },
  },
  {
    name: "allows web pages of listed origins to call it, and to read errors and streams",
    async run({ serve }) {
      const served = serve({ cors: { origins: [SHOP] } });
      const headers = { origin: SHOP, "access-control-request-method": "POST" };
      const preflight = await served.send(GENERATIONS, { method: "OPTIONS", headers });
      expectMatch(await readResponse(preflight), { status: 204, text: "" });
      expectMatch(preflight.headers.get("access-control-allow-origin"), SHOP);
      expectMatch(preflight.headers.get("access-control-allow-headers"), /authorization/);
      await expectReadable(served, ["an image", toInit(BODY), 200]);
      await expectReadable(served, ["a stream", toInit({ ...BODY, stream: true }), 200]);
      await expectReadable(served, ["an error", toInit({}), 400]);
      const other = await served.send(
        GENERATIONS,
        withHeaders(toInit(BODY), { origin: "https://x.example" }),
      );
      await other.text();
      assert.equal(other.headers.get("access-control-allow-origin"), null);
    },
  },
  {
    name: "takes the key from the header api-key",
    async run({ serve }) {
      const headers = { "api-key": CALLER_KEY, "content-type": "application/json" };
      const response = await serve().send(GENERATIONS, { headers, body: JSON.stringify(BODY) });
      expectMatch(await readResponse(response), { status: 200, body: IMAGE });
    },
  },
  {
    name: "serves clients of DashScope at DashScope's own path",
    async run({ serve }) {
      const { post } = serve();
      const choices = [{ message: { content: [{ image: /^http/ }] } }];
      expectMatch(await post({ model: QWEN_IMAGE, input: INPUT }, DASHSCOPE), {
        status: 200,
        body: { output: { choices } },
      });
      expectMatch(await post({ model: "x", input: INPUT }, DASHSCOPE), {
        status: 404,
        body: { code: "model_not_found", request_id: /^req_/, error: { code: "model_not_found" } },
      });
    },
  },
  {
    name: "edits the images of JSON, and of a form with a model of family B",
    async run({ serve }) {
      const bytes = createBitmap(32, 0);
      const image_url = `data:image/bmp;base64,${Buffer.from(bytes).toString("base64")}`;
      const { post } = serve({
        models: {
          [SEEDREAM]: { family: "seedream" },
          [QWEN_IMAGE]: { family: "qwen-image", edits: true },
        },
      });
      expectMatch(await post({ ...BODY, images: [{ image_url }] }, EDITS), { status: 200, body: IMAGE });
      const form = new FormData();
      form.append("model", QWEN_IMAGE);
      form.append("prompt", "at night");
      form.append("image", new Blob([bytes], { type: "image/bmp" }), "a.bmp");
      expectMatch(await post(form, EDITS), { status: 200, body: IMAGE });
    },
  },
  {
    name: "streams in OpenAI's format, also for a model that does not stream",
    async run({ serve }) {
      const { post } = serve({ streamFormat: "openai" });
      for (const model of [SEEDREAM, QWEN_IMAGE]) {
        const { status, text } = await post({ model, prompt: "a fox", stream: true });
        expectMatch(status, 200, "status");
        expectMatch(
          text,
          /^event: image_generation\.completed\ndata: .*"url":"http.*\n\ndata: \[DONE\]\n\n$/,
        );
      }
    },
  },
  {
    name: "replaces a size by the nearest one that the model accepts",
    async run({ serve }) {
      const { post } = serve({ sizes: "nearest" });
      const { status, headers } = await post({ ...BODY, size: "512x512" });
      expectMatch(status, 200, "status");
      expectMatch(headers.get("x-calotype-size"), "960x960", "x-calotype-size");
    },
  },
  {
    name: "begins a stream with a comment while its provider is silent",
    async run({ serve, fail }) {
      const { send } = serve({ heartbeatSeconds: 0.1 });
      await fail({ latencyMs: 1_000, times: 1 });
      const beganAt = performance.now();
      const response = await send(GENERATIONS, toInit({ ...BODY, stream: true }));
      expectMatch(await readFirst(response), /^:/, "the first bytes");
      assert.ok(performance.now() - beganAt < 1_000, "the comment was late");
      await response.body?.cancel().catch(() => undefined);
    },
  },
];
