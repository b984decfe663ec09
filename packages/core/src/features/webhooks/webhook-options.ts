import { isPlainlyPrivate } from "../../util/public-address.js";

/** Where callers get messages about the end of their tasks and about their budgets, by requests as Standard Webhooks describes them. */
export interface WebhooksOptions {
  /**
   * The endpoints by the id of their caller, or a function that returns the endpoints of a caller. The function is called
   * at each submission of a task and before each attempt; it also serves callers of `authenticate`.
   */
  readonly endpoints: Readonly<Record<string, CallerEndpoints>> | FindEndpoints;
  /**
   * Hosts that may have an address in a private network, without a port. A loopback host in the list, such as `127.0.0.1`,
   * may also have a plain http address, for development. Default: none.
   */
  readonly allowHosts?: readonly string[] | undefined;
  /** How long an endpoint may take to respond, in seconds: above 0, at most 60. Default 15. */
  readonly timeoutSeconds?: number | undefined;
}

/**
 * The endpoints of a caller by their names, at most 10. A name has 1 to 64 letters, digits, dots, hyphens and underscores,
 * and begins with a letter or a digit.
 */
export type CallerEndpoints = Readonly<Record<string, WebhookEndpoint>>;

/** Returns the endpoints of a caller; nothing if it has none. */
export type FindEndpoints = (
  caller: string,
) => CallerEndpoints | null | undefined | Promise<CallerEndpoints | null | undefined>;

/** A server that gets messages about the end of tasks and about budgets. */
export interface WebhookEndpoint {
  /** An https address. Its host must be public or in `allowHosts`. */
  readonly url: string;
  /**
   * 1 to 5 secrets, each `whsec_` and the base64 of 24 to 64 random bytes. All of them sign: while a secret is replaced, the
   * receiver may verify with the old one or with the new one.
   */
  readonly secrets: readonly string[];
}

export const DEFAULT_WEBHOOK_TIMEOUT_SECONDS = 15;

/** A wrong address of an endpoint. */
export interface EndpointProblem {
  /** The name of the endpoint. */
  readonly name: string;
  /** Continues the name of the field `url`. */
  readonly message: string;
}

/** Checks the addresses of endpoints of the right shape. The addresses of a name are checked when the connection is made. */
export function* checkEndpoints(
  endpoints: CallerEndpoints,
  allowHosts: readonly string[],
): Iterable<EndpointProblem> {
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const { protocol, hostname } = new URL(endpoint.url);
    const isAllowed = isAllowedHost(hostname, allowHosts);
    if (protocol === "http:" && !(isAllowed && isLoopback(hostname))) {
      const message =
        "must be an https address: plain http is only for a loopback host that is listed in allowHosts";
      yield { name, message };
    } else if (!isAllowed && isPlainlyPrivate(hostname)) {
      yield { name, message: `must have a public host, or one that is listed in allowHosts: ${hostname}` };
    }
  }
}

/** Whether the operator allows this host an address in a private network. */
export function isAllowedHost(hostname: string, allowHosts: readonly string[]): boolean {
  return allowHosts.some((host) => host.toLowerCase() === hostname);
}

/** The bytes of a secret, or `undefined` if it is not one. */
export function decodeSecret(secret: string): Uint8Array<ArrayBuffer> | undefined {
  const base64 = /^whsec_((?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?)$/.exec(secret)?.[1];
  if (base64 === undefined) return undefined;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
