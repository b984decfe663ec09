import { createBitmap } from "./create-bitmap.js";
import type { Call } from "./http-client.js";
import { CALLER_HEADERS } from "./image-calls.js";
import { CALLER_KEY, SEEDREAM } from "./test-gateway.js";

const BOUNDARY = "----calotype-form";

/** An uncompressed image of 32 by 32 pixels, which can be created without a library. */
const IMAGE = createBitmap(32, 32);

/** The fields and the image of {@link editCall}. */
export interface EditForm {
  /** Default true. */
  readonly image?: boolean;
  readonly fields?: Readonly<Record<string, string>>;
}

const FIELDS = { model: SEEDREAM, prompt: "at night", size: "1K" };

/** A call of `/v1/images/edits` with one image in its form, or without an image. */
export function editCall({ image = true, fields: given = FIELDS }: EditForm = {}): Call {
  const fields = Object.entries(given);
  const file = [
    Buffer.from(`${part("image", '; filename="猫.bmp"')}content-type: image/bmp\r\n\r\n`),
    IMAGE,
    Buffer.from("\r\n"),
  ];
  return {
    path: "/v1/images/edits",
    headers: {
      authorization: `Bearer ${CALLER_KEY}`,
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
    },
    body: Buffer.concat([
      ...fields.map(([name, value]) => Buffer.from(`${part(name)}\r\n${value}\r\n`)),
      ...(image ? file : []),
      Buffer.from(`--${BOUNDARY}--\r\n`),
    ]),
  };
}

/** A call of `/v1/images/edits` with one image as a data URL in JSON. */
export function jsonEditCall(): Call {
  const url = `data:image/bmp;base64,${Buffer.from(IMAGE).toString("base64")}`;
  const body = { model: SEEDREAM, prompt: "at night", size: "1K", images: [{ image_url: url }] };
  return { ...editCall(), headers: CALLER_HEADERS, body: JSON.stringify(body) };
}

function part(name: string, more = ""): string {
  return `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n`;
}
