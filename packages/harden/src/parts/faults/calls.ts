import { createBitmap } from "@calotype/conformance/support/create-bitmap";
import { isStreamKind, type Kind } from "./cells.ts";
import type { ClientCall } from "./client.ts";
import { IMAGES } from "./expectation.ts";

export const MODEL = "seedream-4-5-251128";
export const CALLER = "tester";
export const KEY = "caller-canary-4de9a1b2";

const FIELDS = { model: MODEL, prompt: "A paper kite over the sea", size: "2048x2048", n: IMAGES };
const BOUNDARY = "----harden";
/** Large enough that half of a form is a part of a file. */
const IMAGE = createBitmap(64, 64);

export function callOf(kind: Kind): ClientCall {
  if (kind === "form") return formCall();
  return jsonCall({ ...FIELDS, ...(isStreamKind(kind) && { stream: true }) });
}

/** A small request with a body of about this many bytes. */
export function probeCall(bytes: number): ClientCall {
  const { body, ...call } = jsonCall({ ...FIELDS, n: 1 });
  return { ...call, body: Buffer.concat([body, Buffer.alloc(bytes, " ")]) };
}

function jsonCall(fields: object): ClientCall {
  return {
    path: "/v1/images/generations",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(fields)),
  };
}

function formCall(): ClientCall {
  const head = (name: string, rest = ""): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const fields = Object.entries(FIELDS).map(([name, value]) => `${head(name)}${value}\r\n`);
  return {
    path: "/v1/images/edits",
    headers: {
      authorization: `Bearer ${KEY}`,
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
    },
    body: Buffer.concat([
      Buffer.from(fields.join("") + head("image", '; filename="a.bmp"')),
      IMAGE,
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]),
  };
}
