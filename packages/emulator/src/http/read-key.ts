/** The key of `Authorization: Bearer …`, or of another scheme. */
export function readBearerKey(request: Request, scheme = "Bearer"): string | undefined {
  const pattern = new RegExp(`^${scheme}\\s+(\\S.*)$`, "i");
  return pattern.exec(request.headers.get("authorization") ?? "")?.[1]?.trim();
}

/** The key of a header that holds nothing else, such as `x-goog-api-key`. */
export function readKeyHeader(request: Request, name: string): string | undefined {
  return request.headers.get(name)?.trim() || undefined;
}
