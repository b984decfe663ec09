/**
 * The whole path of a request, and the path at which the framework mounted the gateway. Frameworks take the mount path
 * off `url` and keep the whole in `originalUrl`. If a middleware has rewritten `url`, the mount path is not known.
 */
export function readMountPath(
  url: string,
  originalUrl: string | undefined,
): { readonly url: string; readonly mountPath: string | undefined } {
  // koa-mount takes the slash off too, if its path ends in one.
  const below = url.startsWith("/") ? url : `/${url}`;
  if (originalUrl === undefined || originalUrl === below || !originalUrl.endsWith(below)) {
    return { url: below, mountPath: undefined };
  }
  return { url: originalUrl, mountPath: originalUrl.slice(0, -below.length) };
}
