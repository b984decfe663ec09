import { Readable } from "node:stream";
import busboy from "busboy";
import { GatewayError, invalidRequest } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import type { JsonObject } from "../json.js";
import { bodyAlreadyRead } from "./body-already-read.js";
import { collectForm, type FormLimits, type FormOptions, type FormParser } from "./collect-form.js";
import { createFormEnd } from "./form-end.js";
import { toFormFields } from "./form-fields.js";
import { type BodyGuard, openBody } from "./incoming-body.js";
import { checkContentEncoding } from "./read-json.js";

/**
 * The fields of a multipart form, each with the type it has in JSON, and its images in `image`.
 * Nothing is handed on before the form has ended.
 *
 * @throws GatewayError 400, 413, 415, or `body_already_read`
 */
export async function readMultipart(
  request: GatewayRequest,
  options: FormOptions,
  guard?: BodyGuard,
): Promise<JsonObject> {
  const { limits } = options;
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data *;/i.test(contentType)) {
    throw new GatewayError(
      "unsupported_media_type",
      "This endpoint takes a form with files: send Content-Type: multipart/form-data. For JSON with image URLs, use /v1/images/generations with image.",
    );
  }
  checkContentEncoding(request.headers.get("content-encoding"));
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limits.form)
    throw new GatewayError("request_too_large", `The form is larger than ${limits.form} bytes.`);
  const parser = createParser(contentType, limits);
  // A body that the host has read is already in memory and counted.
  const isRead = request.parsedBody instanceof Uint8Array;
  const body = openBody({ body: readableBody(request) }, isRead ? undefined : guard);
  return toFormFields(await collectForm(body, parser, options));
}

/** The form's bytes from the host, or from a parser of the host that left them as they were. */
function readableBody({ body, parsedBody, bodyConsumed }: GatewayRequest): GatewayRequest["body"] {
  if (parsedBody instanceof Uint8Array) return Readable.from([parsedBody]);
  if (bodyConsumed === true) throw bodyAlreadyRead();
  return body;
}

/** A form with more fields is refused. No form of the interface needs this many. */
const MAX_FILES = 64;
const MAX_FIELDS = 256;

/** A parser of forms with these limits. @throws GatewayError `invalid_request_error` without a usable boundary */
function createParser(contentType: string, limits: FormLimits): FormParser {
  const boundary = readBoundary(contentType);
  const parser = busboy({
    // The header is rewritten so that the parser and the search for the form's end use the same boundary.
    headers: { "content-type": `multipart/form-data; boundary="${boundary.replaceAll(/["\\]/g, "\\$&")}"` },
    defParamCharset: "utf8",
    limits: {
      // busboy cuts a file when it reaches the limit, not when it exceeds it, hence + 1.
      fileSize: limits.file + 1,
      fieldSize: limits.form + 1,
      files: MAX_FILES,
      fields: MAX_FIELDS,
      // Parts without a name or a header count too. busboy emits `partsLimit` when it reaches the limit, hence + 1.
      parts: MAX_FILES + MAX_FIELDS + 1,
    },
  });
  return { parser, end: createFormEnd(boundary) };
}

/** RFC 2046 allows 70 characters; some clients use a few more. */
const MAX_BOUNDARY_LENGTH = 256;

function readBoundary(contentType: string): string {
  const [, quoted, token] = /;\s*boundary=(?:"((?:[^"\\]|\\.)*)"|([^\s;",]+))/i.exec(contentType) ?? [];
  const boundary = quoted?.replaceAll(/\\(.)/g, "$1") ?? token ?? "";
  if (/^[\x20-\x7e]+$/.test(boundary) && boundary.length <= MAX_BOUNDARY_LENGTH) return boundary;
  throw invalidRequest(
    `The form's Content-Type is not usable: it needs a boundary of 1 to ${MAX_BOUNDARY_LENGTH} ASCII characters.`,
  );
}
