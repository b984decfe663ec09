import { readText } from "@calotype/conformance/support/workspace";
import { toRecord } from "./to-record.ts";

/** A response as the client received it. */
export interface SeenResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Why reading the body failed. */
  readonly failure?: unknown;
}

/** The codes of the table in docs/errors.md. */
const CODES: ReadonlySet<string> = new Set(
  [...readText("docs/errors.md").matchAll(/^\| \[`(\w+)`\]\(errors\/\w+\.md\) \| \d{3} \|/gm)].map(
    ([, code]) => code ?? "",
  ),
);
const TYPES: ReadonlySet<string> = new Set([
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "rate_limit_error",
  "insufficient_quota",
  "upstream_error",
  "server_error",
]);

/**
 * Returns the first rule of responses that this one breaks.
 *
 * @param fault `provider`: the provider failed. Then the response may have its code and, on the native endpoint, its
 * body, and a stream may end inside an event.
 */
export function findBrokenRule(seen: SeenResponse, fault?: "provider"): string | undefined {
  const { status, headers } = seen;
  if (!headers["x-request-id"]) return "every response has x-request-id";
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  if (!isStream && headers["cache-control"] !== "no-store")
    return "every response has cache-control: no-store";
  if (isStream && status === 200) return findStreamProblem(seen, fault);
  if (seen.failure !== undefined || fault === "provider") return undefined;
  const body = parse(seen.body);
  if (body === undefined) return "a response is valid JSON";
  return status >= 400 ? findErrorProblem(body) : undefined;
}

/** The `error.code` of a response, if it has one. */
export function readCode(seen: SeenResponse): string | undefined {
  const code = toRecord(toRecord(parse(seen.body))["error"])["code"];
  return typeof code === "string" ? code : undefined;
}

function findErrorProblem(body: unknown): string | undefined {
  const error = toRecord(toRecord(body)["error"]);
  const { message, type, code } = error;
  if (typeof message !== "string" || message === "") return "an error has a message";
  if (typeof type !== "string" || !TYPES.has(type)) return "an error has a documented type";
  if (typeof code !== "string" || !CODES.has(code)) return "an error has a documented code";
  if (!("param" in error)) return "an error has param";
  return undefined;
}

/** An error event of the gateway follows a complete event. Without a fault of the provider, the last event is complete. */
function findStreamProblem(
  { body, failure }: SeenResponse,
  fault: "provider" | undefined,
): string | undefined {
  if (failure !== undefined) return undefined;
  const text = body.toString();
  const added = OWN_ERROR_EVENT.exec(text);
  if (added !== null) {
    return endsWithEvent(text.slice(0, added.index)) ? undefined : "an error event follows a complete event";
  }
  return fault === "provider" || endsWithEvent(text) ? undefined : "a stream ends after an event";
}

/** The error event of the gateway, at the end of a stream. */
const OWN_ERROR_EVENT = /event: error\ndata: \{"error":\{"message":[^\n]*,"param":null[^\n]*\}\}\n\n$/;

function endsWithEvent(text: string): boolean {
  return text === "" || /(?:\r\n|\n|\r)(?:\r\n|\n|\r)$/.test(text);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
