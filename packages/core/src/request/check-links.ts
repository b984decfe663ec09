import { invalidRequest } from "../errors.js";
import { isTrusted, type ResultSource } from "../images/link-hosts.js";
import { isUploadedImage } from "../images/reference-image.js";
import type { JsonObject } from "../util/json.js";
import { isPrivateHost } from "../util/public-address.js";

/**
 * Refuses links to hosts that are plainly private, such as `http://10.0.0.1/a.png`, in any field: the provider or the gateway may
 * reach hosts that the client cannot reach. Of links to other hosts, the gateway checks the addresses when it opens them itself.
 *
 * @param channels those of the model. Links to the origin of a base URL with plain http, and to `resultHosts`, are allowed.
 * @throws GatewayError `invalid_request_error` with the path of the field
 */
export function checkLinks(fields: JsonObject, channels: readonly ResultSource[]): void {
  for (const [name, value] of Object.entries(fields)) checkValue(value, name, name, channels);
}

/** Fields that hold words, or the name of an end user. Links in them are not opened. */
const WORDS: ReadonlySet<string> = new Set([
  "prompt",
  "negative_prompt",
  "text",
  "user",
  "safety_identifier",
]);

/**
 * @param name the name of the field that holds the value, or the list with it
 * @param path the path of the value
 */
function checkValue(value: unknown, name: string, path: string, channels: readonly ResultSource[]): void {
  if (typeof value === "string") {
    if (!WORDS.has(name) && isPrivateLink(value, channels)) {
      throw invalidRequest(
        `${path} is a link to a host that is not public: send a public https link or a data URL.`,
        path,
      );
    }
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkValue(item, name, `${path}[${index}]`, channels);
  } else if (typeof value === "object" && value !== null && !isUploadedImage(value)) {
    for (const [key, item] of Object.entries(value)) checkValue(item, key, `${path}.${key}`, channels);
  }
}

/** White space before a link, and in its beginning, is left out by everyone who opens it. */
const LINK = /^[\s\p{Cc}]*h[\s\p{Cc}]*t[\s\p{Cc}]*t[\s\p{Cc}]*p/iu;

function isPrivateLink(value: string, channels: readonly ResultSource[]): boolean {
  if (!value.includes(":") || !LINK.test(value) || !URL.canParse(value)) return false;
  const url = new URL(value);
  const isHttp = url.protocol === "http:" || url.protocol === "https:";
  return isHttp && isPrivateHost(url.hostname) && !channels.some((channel) => isTrusted(url, channel));
}
