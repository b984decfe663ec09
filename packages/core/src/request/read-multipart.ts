import { Readable } from "node:stream";
import busboy from "busboy";
import { GatewayError } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import type { JsonObject } from "../json.js";
import { collectForm, type FormLimits, type FormOptions } from "./collect-form.js";
import { toFormFields } from "./form-fields.js";
import { bodyAlreadyRead, checkContentEncoding } from "./read-json.js";

/**
 * The fields of a multipart form, each with the type it has in JSON, and its images in `image`.
 * Nothing is handed on before the form has ended.
 *
 * @throws GatewayError 400, 413, 415, or `body_already_read`
 */
export async function readMultipart(request: GatewayRequest, options: FormOptions): Promise<JsonObject> {
  const { limits } = options;
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data *;/i.test(contentType)) {
    throw new GatewayError(
      "unsupported_media_type",
      "This endpoint takes a form with files: send Content-Type: multipart/form-data. For JSON with image URLs, use /v1/images/generations with image.",
    );
  }
  checkContentEncoding(request.headers.get("content-encoding"));
  const body = readableBody(request);
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limits.form)
    throw new GatewayError("request_too_large", `The form is larger than ${limits.form} bytes.`);
  const freeChunk = body === request.body ? request.freeChunk : undefined;
  const form = await collectForm(body, createParser(contentType, limits), { ...options, freeChunk });
  return toFormFields(form);
}

/** The form's bytes: as they come, or where a parser of the host took them and left them as they were. */
function readableBody({ body, parsedBody, bodyConsumed }: GatewayRequest): GatewayRequest["body"] {
  if (parsedBody instanceof Uint8Array) return Readable.from([parsedBody]);
  if (bodyConsumed === true) throw bodyAlreadyRead();
  return body;
}

/** Counts beyond what any form of the interface holds; past them it is refused. */
const MAX_FILES = 64;
const MAX_FIELDS = 256;

/** A parser of forms that stops at these limits. */
export function createParser(contentType: string, limits: FormLimits): busboy.Busboy {
  try {
    return busboy({
      headers: { "content-type": contentType },
      defParamCharset: "utf8",
      limits: {
        // A file that reaches the parser's limit counts as cut.
        fileSize: limits.file + 1,
        fieldSize: limits.form + 1,
        files: MAX_FILES,
        fields: MAX_FIELDS,
        // Those without a name or a header count, too. The parser cries at its limit, not past it.
        parts: MAX_FILES + MAX_FIELDS + 1,
      },
    });
  } catch (cause) {
    throw new GatewayError(
      "invalid_request_error",
      "The form's Content-Type is not usable: it needs a boundary.",
      { cause },
    );
  }
}
