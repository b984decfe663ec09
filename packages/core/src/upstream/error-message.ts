import { isJsonObject, type JsonObject } from "../util/json.js";

/** Fields that contain the error message in JSON bodies of other services. */
const FIELDS = ["message", "msg", "detail", "error_description", "error_msg", "error"] as const;

/**
 * Returns the message of an error response that is not in the family's format, for example of a proxy or a load
 * balancer in front of a provider: a field of other JSON, the title of an HTML page, or the text itself. Returns
 * `undefined` if there is no text. The message is neither masked nor shortened.
 */
export function findErrorMessage(text: string): string | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return findText(text);
  }
  if (typeof json === "string") return toLine(json);
  return isJsonObject(json) ? findField(json) : undefined;
}

function findText(text: string): string | undefined {
  if (text.includes("\u0000") || text.includes("\ufffd")) return undefined;
  const isHtml = /^\s*<(?:!doctype|html|\?xml)/i.test(text);
  return toLine(isHtml ? (/<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? "") : text);
}

function findField(json: JsonObject): string | undefined {
  const { error, errors } = json;
  const [first] = Array.isArray(errors) ? errors : [];
  for (const object of [json, error, first]) {
    if (!isJsonObject(object)) continue;
    for (const field of FIELDS) {
      const value = object[field];
      if (typeof value === "string" && value.trim() !== "") return toLine(value);
    }
  }
  return undefined;
}

/** Converts a text to one line: control characters and runs of white space become a space. */
function toLine(text: string): string | undefined {
  return text.replace(/[\s\p{Cc}]+/gu, " ").trim() || undefined;
}
