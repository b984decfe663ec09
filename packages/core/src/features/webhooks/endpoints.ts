import { invalidRequest } from "../../errors.js";
import type { HeaderReader } from "../../http.js";
import { formatPath } from "../../util/parse-fields.js";
import {
  type CallerEndpoints,
  checkEndpoints,
  DEFAULT_WEBHOOK_TIMEOUT_SECONDS,
  decodeSecret,
  isAllowedHost,
  type WebhooksOptions,
} from "./webhook-options.js";
import { callerEndpointsSchema } from "./webhook-schema.js";

/** An endpoint that was checked. */
export interface MessageEndpoint {
  readonly url: string;
  /** Whether all its addresses must be public. */
  readonly publicOnly: boolean;
  /** At least one. */
  readonly secrets: readonly Uint8Array<ArrayBuffer>[];
}

/** The endpoints of all callers. */
export interface WebhookEndpoints {
  /**
   * Returns the endpoints of a caller by their names. Rejects with the error of the operator's function.
   *
   * @throws TypeError if the operator's function returned wrong endpoints
   */
  find(caller: string): Promise<ReadonlyMap<string, MessageEndpoint>>;
  /** How long an endpoint may take to respond, in milliseconds. */
  readonly timeoutMs: number;
}

const NONE: ReadonlyMap<string, MessageEndpoint> = new Map();

/** @param options validated */
export function createWebhookEndpoints({
  endpoints,
  allowHosts = [],
  timeoutSeconds = DEFAULT_WEBHOOK_TIMEOUT_SECONDS,
}: WebhooksOptions): WebhookEndpoints {
  const timeoutMs = timeoutSeconds * 1000;
  if (typeof endpoints !== "function") {
    const byCaller = new Map(
      Object.entries(endpoints).map(([caller, own]) => [caller, toEndpoints(own, allowHosts)]),
    );
    return { timeoutMs, find: async (caller) => byCaller.get(caller) ?? NONE };
  }
  return {
    timeoutMs,
    async find(caller) {
      const found = await endpoints(caller);
      if (found === null || found === undefined) return NONE;
      return toEndpoints(checkFound(found, { caller, allowHosts }), allowHosts);
    },
  };
}

/**
 * Reads which endpoints get a message about the end of a task: the one that the header `x-calotype-webhook` names, or all endpoints of
 * the caller if there is no such header. Call it at submission.
 *
 * @param endpoints `undefined` without the option `webhooks`
 * @throws GatewayError `invalid_request_error` for an unknown name. Also what {@link WebhookEndpoints.find} throws.
 */
export async function readWebhookNames(
  headers: HeaderReader,
  caller: string,
  endpoints: WebhookEndpoints | undefined,
): Promise<readonly string[]> {
  const header = headers.get(WEBHOOK_HEADER);
  const names = endpoints === undefined ? [] : [...(await endpoints.find(caller)).keys()];
  if (header === null) return names;
  const name = header.trim();
  if (names.includes(name)) return [name];
  const known =
    names.length === 0
      ? "There are no webhook endpoints for this API key"
      : `The names are ${names.join(", ")}`;
  throw invalidRequest(
    `The header ${WEBHOOK_HEADER} must be the name of one webhook endpoint, not ${JSON.stringify(name.slice(0, MAX_SHOWN))}. ${known}.`,
    WEBHOOK_HEADER,
  );
}

/** Names the only endpoint that gets a message about the end of a task. */
const WEBHOOK_HEADER = "x-calotype-webhook";
const MAX_SHOWN = 64;

function toEndpoints(
  endpoints: CallerEndpoints,
  allowHosts: readonly string[],
): ReadonlyMap<string, MessageEndpoint> {
  return new Map(
    Object.entries(endpoints).map(([name, { url, secrets }]) => {
      const { href, hostname } = new URL(url);
      const endpoint = {
        url: href,
        publicOnly: !isAllowedHost(hostname, allowHosts),
        secrets: secrets.flatMap((secret) => decodeSecret(secret) ?? []),
      };
      return [name, endpoint];
    }),
  );
}

/** @throws TypeError that names the field and not its value, which may be a secret */
function checkFound(
  found: CallerEndpoints,
  { caller, allowHosts }: { readonly caller: string; readonly allowHosts: readonly string[] },
): CallerEndpoints {
  const issue = callerEndpointsSchema.safeParse(found).error?.issues[0];
  const [wrongUrl] = issue === undefined ? checkEndpoints(found, allowHosts) : [];
  if (issue === undefined && wrongUrl === undefined) return found;
  const path = issue?.path ?? [wrongUrl?.name ?? "", "url"];
  const field = path.length === 0 ? "The result" : formatPath(path);
  throw new TypeError(
    `webhooks.endpoints returned wrong endpoints for the caller ${JSON.stringify(caller)}: ${field} ${issue?.message ?? wrongUrl?.message}`,
  );
}
