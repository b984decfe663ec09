import type { GatewayResponse } from "@calotype/core/adapter";
import { FILES } from "#assets";
import type { BuiltFile } from "./assets.js";
import { type EncodingRequest, takesGzip } from "./gzip.js";
import { respond, respondWithError } from "./respond.js";

/** What the addresses of the built page begin with, until the real path is known. */
const PLACEHOLDER = "/__studio__";
const INDEX = "index.html";

const files = new Map<string, BuiltFile>(FILES.map((file) => [file[0], file]));

/** Responds with a file of the page other than its HTML. Their names contain a hash, so browsers keep them. */
export function respondWithFile(
  path: string,
  request: EncodingRequest,
): Promise<GatewayResponse> | GatewayResponse {
  const file = path === INDEX ? undefined : files.get(path);
  if (file === undefined) return respondWithError(404, "not_found", "The studio has no such file.");
  return sendFile(file, request);
}

async function sendFile([, type, base64]: BuiltFile, request: EncodingRequest): Promise<GatewayResponse> {
  const kept = {
    "content-type": type,
    "cache-control": "private, max-age=31536000, immutable",
    vary: "accept-encoding",
  };
  const packed = toBytes(base64);
  return takesGzip(request)
    ? respond(200, packed, { ...kept, "content-encoding": "gzip" })
    : respond(200, await unpack(packed), kept);
}

/** Responds with the HTML of the page. `base` is the path at which the studio is mounted. */
export async function respondWithPage(base: string, status = 200): Promise<GatewayResponse> {
  const file = files.get(INDEX);
  if (file === undefined) throw new Error("The studio was built without its page.");
  const html = new TextDecoder().decode(await unpack(toBytes(file[2])));
  return respond(status, html.replaceAll(PLACEHOLDER, escapeHtml(base)), { "content-type": file[1] });
}

async function unpack(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function toBytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
