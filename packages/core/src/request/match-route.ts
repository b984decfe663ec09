import type { Operation } from "../image-request.js";

const PATHS: readonly (readonly [string, Operation])[] = [
  ["/v1/images/generations", "generate"],
  ["/v1/images/edits", "edit"],
  ["/api/v3/images/generations", "native"],
];

/** Where an operation is served. */
export function pathOfOperation(operation: Operation): string {
  return PATHS.find(([, served]) => served === operation)?.[0] ?? "";
}

/** Finds the operation that a URL asks for, or `undefined` when its path is none of the gateway's. */
export type RouteMatcher = (url: string) => Operation | undefined;

/** A matcher for the paths of the interface under a base path (`""` or `/ai`). */
export function createRouteMatcher(basePath: string): RouteMatcher {
  const operations = new Map(PATHS.map(([path, operation]) => [basePath + path, operation]));
  // Most hosts give the path alone.
  return (url) => operations.get(url) ?? operations.get(pathOf(url));
}

/** The path of an absolute URL or of one that begins at the root, without query and fragment. */
function pathOf(url: string): string {
  const [address = ""] = url.split(/[?#]/, 1);
  const start = address.startsWith("/") ? 0 : address.indexOf("/", address.indexOf("://") + 3);
  return start === -1 ? "/" : address.slice(start);
}
