import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type Bench, QWEN_IMAGE, qwenImageChannel, type ReadResponse } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, read } from "../expect.ts";

/** Addresses that no link may lead to; `PORT` is where connections are counted. */
const PRIVATE = [
  "https://127.0.0.1:PORT/a.png",
  "https://127.1:PORT/a.png",
  "https://0x7f000001:PORT/a.png",
  "https://[::1]:PORT/a.png",
  "https://[::ffff:127.0.0.1]:PORT/a.png",
  "https://0.0.0.0:PORT/a.png",
  "https://10.0.0.1/a.png",
  "https://169.254.169.254/latest/meta-data",
  "https://[fd00::1]/a.png",
  "http://127.0.0.1:PORT/a.png",
];

/** Result links of the provider, fetched where the client wants base64. */
export const downloads: readonly Check[] = [
  {
    name: "downloads the links of a provider on its own loopback origin",
    async run({ serve }) {
      const response = await serve().post(BODY);
      expectMatch(response.status, 200, "status");
      const image = Buffer.from(String(read(response.body, "data", 0, "b64_json")), "base64");
      assert.equal(image.subarray(1, 4).toString(), "PNG");
      assert.equal(read(response.body, "extra", "errors"), undefined);
    },
  },
  {
    name: "downloads nothing from a private address",
    async run(bench) {
      for (const link of PRIVATE) {
        const url = link.replace("PORT", String(bench.addresses.trapPort));
        expectNoImage(await askForLink(bench, url), url);
      }
      assert.equal(await readCount(bench, "caught"), 0);
    },
  },
  {
    name: "downloads nothing from a name with a private address",
    async run(bench) {
      const url = `https://localhost:${bench.addresses.trapPort}/a.png`;
      expectNoImage(await askForLink(bench, url), url);
      assert.equal(await readCount(bench, "caught"), 0);
    },
  },
  {
    name: "follows no redirect of a link",
    async run(bench) {
      const url = `${bench.addresses.scripted}/redirect`;
      expectNoImage(await askForLink(bench, url), url);
      assert.equal(await readCount(bench, "elsewhere"), 0);
    },
  },
];

const BODY = { model: QWEN_IMAGE, prompt: "a red fox", size: "1328x1328", response_format: "b64_json" };

/** Returns what a client gets if the provider responds with this link. */
function askForLink({ serve, addresses }: Bench, link: string): Promise<ReadResponse> {
  const channel = qwenImageChannel(addresses.scripted, `/link/${encodeURIComponent(link)}`);
  return serve({ models: { [QWEN_IMAGE]: { family: "qwen-image" } }, channels: [channel] }).post(BODY);
}

/** The image was made and is charged, so the response contains its link. */
function expectNoImage({ status, body }: ReadResponse, url: string): void {
  expectMatch(
    { status, body },
    { status: 200, body: { data: [{ url }], extra: { errors: [{ code: "image_download_failed" }] } } },
    `the response for ${url}`,
  );
}

async function readCount({ addresses }: Bench, what: "caught" | "elsewhere"): Promise<number> {
  return Number(await (await fetch(`${addresses.scripted}/${what}`)).text());
}
