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
