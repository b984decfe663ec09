/**
 * The whole path of a request, and the path at which the framework mounted the gateway. Frameworks remove the mount
 * path from `url` and keep the whole path in `originalUrl`. If a middleware has rewritten `url`, the mount path is
 * unknown.
 */
export function readMountPath(
  url: string,
  originalUrl: string | undefined,
): { readonly url: string; readonly mountPath: string | undefined } {
  // koa-mount also removes the slash, if its path ends in one.
  const below = url.startsWith("/") ? url : `/${url}`;
  if (originalUrl === undefined || originalUrl === below || !originalUrl.endsWith(below)) {
    return { url: below, mountPath: undefined };
  }
  return { url: originalUrl, mountPath: originalUrl.slice(0, -below.length) };
}
