import { type GatewayError, invalidRequest } from "../errors.js";
import { isUploadedImage, type ReferenceImage } from "../uploaded-image.js";

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * A reference image as the provider takes it: an `http(s)` URL as it came, a data URL whose media
 * type is in lower case, or the file of a form. Of a data URL the media type and the alphabet are
 * checked, of a file the media type; the content is not, and nothing is fetched.
 *
 * @throws GatewayError `invalid_request_error` with `param`
 */
export function toReferenceImage(value: string, param: string, mediaTypes: ReadonlySet<string>): string;
export function toReferenceImage(
  value: ReferenceImage,
  param: string,
  mediaTypes: ReadonlySet<string>,
): ReferenceImage;
export function toReferenceImage(
  value: ReferenceImage,
  param: string,
  mediaTypes: ReadonlySet<string>,
): ReferenceImage {
  if (isUploadedImage(value)) {
    if (!mediaTypes.has(value.mediaType)) throw otherType(value.mediaType, param, mediaTypes);
    return value;
  }
  if (/^data:/i.test(value.slice(0, 5))) return toDataUrl(value, param, mediaTypes);
  if (/^https?:\/\//i.test(value.slice(0, 8)) && URL.canParse(value)) return value;
  throw invalidRequest(
    `${param} must be a public http or https URL, or a data URL such as data:image/png;base64,<base64>.`,
    param,
  );
}

function toDataUrl(value: string, param: string, mediaTypes: ReadonlySet<string>): string {
  const header = DATA_URL.exec(value.slice(0, 128));
  const mediaType = header?.[1]?.toLowerCase();
  if (header === null || mediaType === undefined) {
    throw invalidRequest(`${param} must have the form data:image/<format>;base64,<base64>.`, param);
  }
  if (!mediaTypes.has(mediaType)) throw otherType(mediaType, param, mediaTypes);
  const content = value.slice(header[0].length);
  if (!BASE64.test(content)) throw invalidRequest(`${param} holds characters that are not base64.`, param);
  return `data:${mediaType};base64,${content}`;
}

function otherType(mediaType: string, param: string, mediaTypes: ReadonlySet<string>): GatewayError {
  return invalidRequest(`${param} is ${mediaType}; send one of ${[...mediaTypes].join(", ")}.`, param);
}
