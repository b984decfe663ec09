import { Buffer } from "node:buffer";
import { createBase64, IMAGES, type Images, SERVICE_PREFIX } from "./payloads.ts";
import type { ResponseId } from "./works.ts";

/** The request of a client. */
export interface ClientRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const BOUNDARY = "calotype-bench-boundary-7f3a9c";
const PROMPT =
  "An oak on a hill in the first light of an autumn morning, fog in the valley behind it, a path of wet leaves";

/** Creates the request for a work, with the same bytes each time. */
export function createClientRequest(id: ResponseId): ClientRequest {
  if (id === "edits") return createEdit();
  const body = {
    model: SERVICE_PREFIX + id,
    prompt: PROMPT,
    n: 1,
    size: "2048x2048",
    response_format: id.startsWith("b64") || id === "sse-large" ? "b64_json" : "url",
    ...(id.startsWith("sse") && { stream: true }),
    ...(id === "json-images" && { image: createDataUrls(IMAGES[id]) }),
  };
  return {
    path: "/v1/images/generations",
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(body)),
  };
}

function createEdit(): ClientRequest {
  const field = (name: string, text: string): Buffer =>
    Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`);
  const fileHead = (index: number): Buffer =>
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="image[]"; filename="${index}.png"\r\ncontent-type: image/png\r\n\r\n`,
    );
  const { count, bytes } = IMAGES.edits;
  const image = createImage(bytes);
  const files = Array.from({ length: count }, (_, index) => [fileHead(index), image, Buffer.from("\r\n")]);
  return {
    path: "/v1/images/edits",
    headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.concat([
      field("model", `${SERVICE_PREFIX}edits`),
      field("prompt", PROMPT),
      ...files.flat(),
      Buffer.from(`--${BOUNDARY}--\r\n`),
    ]),
  };
}

/** Creates the data URLs of the images for a JSON body. */
export function createDataUrls({ count, bytes }: Images): string[] {
  return Array<string>(count).fill(`data:image/png;base64,${createImage(bytes).toString("base64")}`);
}

/** The first bytes of a PNG, then noise. */
function createImage(length: number): Buffer {
  const noise = Buffer.from(createBase64(Math.ceil((length * 4) / 3)), "base64url");
  const signature = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  return Buffer.concat([signature, noise]).subarray(0, length);
}
