import type { ProviderName } from "../provider-name.js";
import type { Services } from "../services.js";
import { checkLink, linkFolders } from "./sign.js";

/** The provider whose result links have this path, if any. */
export function providerOfLink(pathname: string): ProviderName | undefined {
  if (pathname.startsWith(linkFolders.ark)) return "ark";
  return pathname.startsWith(linkFolders.dashscope) ? "dashscope" : undefined;
}

/** Whether the emulator has the picture of this link, whichever name it was asked by when it made the link. */
export function isKept(url: URL, { recipes }: Services): boolean {
  return recipes.find(idOf(url)) !== undefined;
}

/** The picture behind a result link. Like the object stores, it asks for no key and ignores one that is sent. */
export async function serveLink(
  request: Request,
  provider: ProviderName,
  services: Services,
): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") return storeError(405, "MethodNotAllowed");
  const url = new URL(request.url);
  const state = checkLink(url, provider, services.settings.now());
  if (state === "tampered") return storeError(403, "SignatureDoesNotMatch");
  if (state === "expired") return storeError(403, "AccessDenied", "Request has expired.");

  const recipe = services.recipes.find(idOf(url));
  if (recipe === undefined) return storeError(404, "NoSuchKey");
  const picture = await services.draw(recipe);
  const headers = {
    "content-type": `image/${recipe.format}`,
    "content-length": String(picture.byteLength),
    "cache-control": "private, max-age=3600",
  };
  return new Response(request.method === "HEAD" ? null : new Uint8Array(picture), { headers });
}

function idOf({ pathname }: URL): string {
  return /([^/.]*)[^/]*$/.exec(pathname)?.[1] ?? "";
}

function storeError(status: number, code: string, message = code): Response {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return new Response(body, { status, headers: { "content-type": "application/xml" } });
}
