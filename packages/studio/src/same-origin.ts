import type { HeaderReader } from "@calotype/core/adapter";

/** The header of every request that changes something. A form of another site cannot send it. */
export const CHANGE_HEADER = "x-calotype-studio";

/**
 * Whether a request that changes something comes from the page itself: it has {@link CHANGE_HEADER}, and the browser says
 * that its page has the same origin. Browsers send `Sec-Fetch-Site` on https and on this machine; elsewhere the host of
 * `Origin` must be that of the request.
 */
export function isFromOwnPage(headers: HeaderReader): boolean {
  if (headers.get(CHANGE_HEADER) !== "1") return false;
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  const host = headers.get("host");
  if (origin === null || host === null || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}

/** Whether the browser says that a page of another site reads. Other programs send no such header. */
export function isFromOtherSite(headers: HeaderReader): boolean {
  const site = headers.get("sec-fetch-site");
  return site === "cross-site" || site === "same-site";
}
