import { createBitmap } from "@calotype/conformance/support/create-bitmap";
import type { GatewayRequest } from "@calotype/core/adapter";
import type { Kind, ScenarioRequest } from "./scenario.ts";

/** Service models of both families. */
export const MODELS = { seedream: "seedream-4-5-251128", "qwen-image": "image-2.0" } as const;

const SIZE = "2048x2048";
const BOUNDARY = "----harden";
const IMAGE = createBitmap(32, 32);

/** The HTTP request of a client, as a host passes it to the gateway. */
export function toGatewayRequest(request: ScenarioRequest, signal: GatewayRequest["signal"]): GatewayRequest {
  const { kind, caller, name, hasKey } = request;
  const body = kind === "form" ? formOf(request) : Buffer.from(JSON.stringify(fieldsOf(request)));
  const headers = new Headers({
    authorization: `Bearer ${caller}`,
    "content-type": kind === "form" ? `multipart/form-data; boundary=${BOUNDARY}` : "application/json",
    "content-length": String(body.length),
  });
  if (hasKey) headers.set("idempotency-key", name);
  return { method: "POST", url: PATHS[kind], headers, body: inTwoChunks(body), signal };
}

const PATHS: Readonly<Record<Kind, string>> = {
  json: "/v1/images/generations",
  stream: "/v1/images/generations",
  qwen: "/v1/images/generations",
  form: "/v1/images/edits",
  native: "/api/v3/images/generations",
  "native stream": "/api/v3/images/generations",
};

function fieldsOf({ kind, name, n }: ScenarioRequest): object {
  const model = kind === "qwen" ? MODELS["qwen-image"] : MODELS.seedream;
  const fields = { model, prompt: name, size: SIZE };
  switch (kind) {
    case "json":
    case "form":
    case "qwen":
      return { ...fields, n };
    case "stream":
      return { ...fields, n, stream: true };
    case "native":
      return { ...fields, ...batchOf(n) };
    case "native stream":
      return { ...fields, ...batchOf(n), stream: true };
  }
}

function batchOf(n: number): object {
  if (n === 1) return {};
  return { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: n } };
}

function formOf(request: ScenarioRequest): Buffer {
  const head = (name: string, rest = ""): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const fields = Object.entries(fieldsOf(request)).map(([name, value]) => `${head(name)}${value}\r\n`);
  return Buffer.concat([
    Buffer.from(fields.join("") + head("image", '; filename="a.bmp"')),
    IMAGE,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
}

async function* inTwoChunks(body: Buffer): AsyncIterable<Uint8Array> {
  const middle = body.length >> 1;
  yield body.subarray(0, middle);
  yield body.subarray(middle);
}
