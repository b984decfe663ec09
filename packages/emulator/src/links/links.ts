import { type ImageRecipe, mediaTypeOf } from "../drawing/recipe.js";
import type { ProviderCall } from "../provider-call.js";
import { type ProviderName, providerNames } from "../provider-name.js";
import { randomHex } from "../random.js";
import type { Services } from "../services.js";
import { checkLink, folderOf, signLink } from "./sign.js";

/** Stores the recipe. Returns a link that serves the image until the link expires. */
export function publishImage(
  recipe: ImageRecipe,
  provider: ProviderName,
  { call, services }: { call: ProviderCall; services: Services },
): string {
  const { now } = services.settings;
  const ttlSeconds = services.settings.linkTtlSeconds ?? linkTtls[provider] ?? usualTtlSeconds;
  const id = randomHex(services.random, 32);
  services.recipes.store(id, recipe);
  const issuedAt = Math.floor(now() / 1000);
  return signLink({
    provider,
    origin: call.fault.linkOrigin ?? call.origin,
    file: `${id}.${recipe.format}`,
    issuedAt: call.fault.expiredLinks === true ? issuedAt - ttlSeconds - 1 : issuedAt,
    ttlSeconds,
  });
}

const usualTtlSeconds = 86_400;

/** How long the links of a provider are valid, in seconds, where it is not a day. */
const linkTtls: Partial<Readonly<Record<ProviderName, number>>> = {
  siliconflow: 3600,
  zhipu: 30 * 86_400,
  bfl: 600,
  replicate: 3600,
  tokenhub: 12 * 3600,
};

/** The provider whose result links have this path, if any. */
export function providerOfLink(pathname: string): ProviderName | undefined {
  return providerNames.find((name) => pathname.startsWith(folderOf(name)));
}

/** Whether the emulator has the image of this link. The link may have any origin. */
export function isStored(url: URL, { recipes }: Services): boolean {
  return recipes.find(idOf(url)) !== undefined;
}

/** Serves the image of a result link. Like the providers' object stores, it needs no key and ignores one. */
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
  const image = await services.draw(recipe);
  const headers = {
    "content-type": mediaTypeOf(recipe.format),
    "content-length": String(image.byteLength),
    "cache-control": "private, max-age=3600",
  };
  return new Response(request.method === "HEAD" ? null : new Uint8Array(image), { headers });
}

function idOf({ pathname }: URL): string {
  return /([^/.]*)[^/]*$/.exec(pathname)?.[1] ?? "";
}

/** An error of the object store. */
export function storeError(status: number, code: string, message = code): Response {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return new Response(body, { status, headers: { "content-type": "application/xml" } });
}
