import { toPlainError } from "../../redact.js";
import { type Transport, TransportError, type TransportResponse } from "../../upstream/transport.js";
import { settlesWithin } from "../../util/async.js";
import { encodeText } from "../../util/utf8.js";
import type { MessageEndpoint } from "./endpoints.js";
import type { SendResult } from "./schedule.js";

/** A message, ready to be sent. */
export interface OutgoingMessage {
  /** The same for each attempt. */
  readonly id: string;
  readonly body: string;
}

/** What {@link sendMessage} needs. */
export interface SendParts {
  readonly transport: Transport;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The maximum time of an attempt, in milliseconds. */
  readonly timeoutMs: number;
}

/** The same as for providers, so that both use the same connections. */
const CONNECT_MS = 10_000;
/** A response is read to its end only so that its connection can be used again. */
const MAX_RESPONSE_BYTES = 16 * 1024;
const MAX_ERROR_LENGTH = 200;

/**
 * Sends a message once, signed as Standard Webhooks describes it. The address comes from the operator or from a caller. So
 * it is reached at public addresses only, unless its host is allowed, no redirect is followed, and time and bytes are
 * limited. Does not reject.
 */
export async function sendMessage(
  { transport, now, timeoutMs }: SendParts,
  endpoint: MessageEndpoint,
  { id, body }: OutgoingMessage,
): Promise<SendResult> {
  const startedAt = performance.now();
  const timestamp = String(Math.floor(now() / 1000));
  const content = `${id}.${timestamp}.${body}`;
  try {
    const signatures = await Promise.all(endpoint.secrets.map((secret) => sign(secret, content)));
    const sent = transport.send({
      url: endpoint.url,
      headers: {
        "content-type": "application/json",
        "user-agent": "calotype",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signatures.join(" "),
      },
      body,
      timeouts: { connectMs: CONNECT_MS, firstByteMs: timeoutMs, idleMs: timeoutMs },
      publicOnly: endpoint.publicOnly,
    });
    if (!(await settlesWithin(sent, timeoutMs))) {
      // A head that still arrives must not keep its connection open.
      sent.then((late) => late.cancel()).catch(() => undefined);
      throw new TransportError("timeout", undefined);
    }
    const response = await sent;
    await readRest(response, timeoutMs - (performance.now() - startedAt));
    return toResult(response, now());
  } catch (error) {
    return { kind: "failed", error: describeFailure(error) };
  }
}

/** Returns the signature of a string, with the version of the scheme. */
async function sign(secret: Uint8Array<ArrayBuffer>, content: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, encodeText(content));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}

/** Reads and ignores the body, within limits. Only the status counts, so a body that breaks off is not an error. */
async function readRest(response: TransportResponse, leftMs: number): Promise<void> {
  const timer = setTimeout(() => response.cancel(), Math.max(leftMs, 0));
  let length = 0;
  try {
    for await (const chunk of response.body) {
      length += chunk.length;
      if (length > MAX_RESPONSE_BYTES) break;
    }
  } catch {
    // The status has arrived.
  } finally {
    clearTimeout(timer);
  }
}

function toResult({ status, headers }: TransportResponse, now: number): SendResult {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const error = `The endpoint responded with status ${status}.`;
  if (status === 410) return { kind: "gone", error };
  const retryAfterMs = MAY_ASK_TO_WAIT.has(status)
    ? readRetryAfter(headers.get("retry-after"), now)
    : undefined;
  return { kind: "failed", error, retryAfterMs };
}

const MAY_ASK_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

/** Reads seconds or a date. Returns milliseconds from now, or `undefined` if the header has neither. */
function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return ms > 0 ? ms : undefined;
}

const REASONS: Readonly<Record<TransportError["reason"], string>> = {
  unreachable: "The endpoint cannot be reached",
  timeout: "The endpoint did not respond in time",
  broken: "The connection to the endpoint failed",
};

/** A string that every store can keep. Messages of other programs may be long or may have any characters. */
function describeFailure(thrown: unknown): string {
  const reason = thrown instanceof TransportError ? thrown.reason : "broken";
  const cause = thrown instanceof TransportError ? thrown.cause : thrown;
  if (cause === undefined) return `${REASONS[reason]}.`;
  const plain = toPlainError(cause);
  const detail = "code" in plain ? String(plain.code) : plain.message;
  return `${REASONS[reason]}: ${detail.slice(0, MAX_ERROR_LENGTH).toWellFormed().replaceAll("\0", "")}`;
}
