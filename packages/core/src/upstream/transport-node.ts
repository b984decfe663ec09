import { Agent, request as send } from "undici";
import { type Transport, TransportError, type TransportResponse } from "./transport.js";

/** Codes of failures before a connection stood, when nothing can have been sent. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

const TIMED_OUT: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** The transport of Node: `undici` on agents of its own, one for each connect timeout. */
export function createTransport(): Transport {
  const agents = new Map<number, Agent>();
  const agentFor = (connectMs: number): Agent => {
    const agent = agents.get(connectMs) ?? new Agent({ connect: { timeout: connectMs } });
    agents.set(connectMs, agent);
    return agent;
  };
  return {
    async send({ url, headers, body, timeouts }): Promise<TransportResponse> {
      try {
        const response = await send(url, {
          method: "POST",
          dispatcher: agentFor(timeouts.connectMs),
          headers,
          body,
          headersTimeout: timeouts.firstByteMs,
          bodyTimeout: timeouts.idleMs,
        });
        return {
          status: response.statusCode,
          headers: { get: (name) => readHeader(response.headers[name.toLowerCase()]) },
          body: withTransportErrors(response.body),
          cancel: () => void response.body.destroy(),
        };
      } catch (error) {
        throw toTransportError(error);
      }
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.close()));
    },
  };
}

async function* withTransportErrors(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toTransportError(error);
  }
}

function readHeader(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}

function toTransportError(error: unknown): TransportError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (UNREACHABLE.has(code)) return new TransportError("unreachable", error);
  return new TransportError(TIMED_OUT.has(code) ? "timeout" : "broken", error);
}
