import busboy from "busboy";
import { GatewayError } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import type { JsonObject } from "../json.js";
import { collectForm, type FormLimits } from "./collect-form.js";
import { toFormFields } from "./form-fields.js";
import { bodyAlreadyRead } from "./read-json.js";

/**
 * The fields of a multipart form, each with the type it has in JSON, and its images as data URLs in
 * `image`. Nothing is handed on before the form has ended.
 *
 * @throws GatewayError 400, 413, 415, or `body_already_read`
 */
export async function readMultipart(request: GatewayRequest, limits: FormLimits): Promise<JsonObject> {
  const contentType = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data *;/i.test(contentType)) {
    throw new GatewayError(
      "unsupported_media_type",
      "This endpoint takes a form with files: send Content-Type: multipart/form-data. For JSON with image URLs, use /v1/images/generations with image.",
    );
  }
  if (request.bodyConsumed === true) throw bodyAlreadyRead();
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limits.form)
    throw new GatewayError("request_too_large", `The form is larger than ${limits.form} bytes.`);
  const form = await collectForm(request.body, createParser(contentType, limits), limits);
  return toFormFields(form);
}

/** Counts beyond what any form of the interface holds; past them it is refused. */
const MAX_FILES = 64;
const MAX_FIELDS = 256;

function createParser(contentType: string, limits: FormLimits): busboy.Busboy {
  try {
    return busboy({
      headers: { "content-type": contentType },
      defParamCharset: "utf8",
      limits: {
        fileSize: limits.file,
        fieldSize: limits.form,
        fieldNameSize: 256,
        files: MAX_FILES,
        fields: MAX_FIELDS,
        headerPairs: 64,
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
