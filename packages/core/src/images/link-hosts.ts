/** The channel that links to images belong to, and the addresses that the links may have besides public ones. */
export interface ResultSource {
  /** Plain http is allowed only for links of this origin. The options allow such a base URL on loopback or with `allowHttp`. */
  readonly baseUrl: string;
  /** Hosts that may have an address in a private network. */
  readonly resultHosts: readonly string[];
}

/** The emulator, for example, serves its links on the same origin as its API. */
export function isOwnHttpOrigin(url: URL, { baseUrl }: ResultSource): boolean {
  return new URL(baseUrl).protocol === "http:" && url.origin === new URL(baseUrl).origin;
}

/** Whether the operator allows links to this host, wherever it is. */
export function isTrusted(url: URL, source: ResultSource): boolean {
  const isNamed = source.resultHosts.some((host) => host.toLowerCase() === url.hostname);
  return isNamed || isOwnHttpOrigin(url, source);
}
