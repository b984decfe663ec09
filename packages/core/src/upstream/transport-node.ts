import { Agent, request } from "undici";
import { toChunks } from "../readable-chunks.js";
import { guardedLookup } from "./guarded-lookup.js";
import {
  type Timeouts,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.js";
import { isUnreachableCode } from "./unreachable.js";

/** What a socket holds before it makes its writer wait: at most the chunks of a body that are used again. */
const SOCKET_BYTES = 64 * 1024;

const TIMED_OUT: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** The transport of Node: `undici` on agents of its own, one for each connect timeout. */
export function createTransport(): Transport {
  const open = createAgents((connectMs) => {
    // The types know no options of sockets, of which all are handed on.
    const connect = { timeout: connectMs, highWaterMark: SOCKET_BYTES };
    return new Agent({ connect });
  });
  const guarded = createAgents(
    (connectMs) => new Agent({ connect: { timeout: connectMs, lookup: guardedLookup } }),
  );
  let closed: Promise<unknown> | undefined;
  return {
    send: ({ url, headers, body, timeouts }) =>
      exchange(url, {
        method: "POST",
        dispatcher: open.get(timeouts),
        ...toUndiciBody(headers, body),
        ...toUndici(timeouts),
      }),
    download: ({ url, timeouts, publicOnly }) =>
      exchange(url, { dispatcher: (publicOnly ? guarded : open).get(timeouts), ...toUndici(timeouts) }),
    async close() {
      closed ??= Promise.all([open.close(), guarded.close()]);
      await closed;
    },
    async abort() {
      await Promise.all([open.destroy(), guarded.destroy()]);
    },
  };
}

interface Agents {
  get(timeouts: Timeouts): Agent;
  close(): Promise<unknown>;
  destroy(): Promise<unknown>;
}

function createAgents(create: (connectMs: number) => Agent): Agents {
  const agents = new Map<number, Agent>();
  return {
    get({ connectMs }) {
      const agent = agents.get(connectMs) ?? create(connectMs);
      agents.set(connectMs, agent);
      return agent;
    },
    close: () => Promise.all([...agents.values()].map((agent) => agent.close())),
    destroy: () => Promise.all([...agents.values()].map((agent) => agent.destroy())),
  };
}

function toUndici({ firstByteMs, idleMs }: Timeouts): { headersTimeout: number; bodyTimeout: number } {
  return { headersTimeout: firstByteMs, bodyTimeout: idleMs };
}

function toUndiciBody(
  headers: TransportRequest["headers"],
  body: TransportRequest["body"],
): Pick<UndiciOptions, "headers" | "body"> {
  if (typeof body === "string") return { headers, body };
  return {
    headers: { ...headers, "content-length": String(body.byteLength) },
    // It waits until the socket has taken all before it asks for more, where a chunk fills what the socket holds.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it takes all that can be iterated; its types do not say so.
    body: (body.chunks?.({ reuse: true }) ?? body) as unknown as string,
  };
}

type UndiciOptions = NonNullable<Parameters<typeof request>[1]>;

async function exchange(url: string, options: Parameters<typeof request>[1]): Promise<TransportResponse> {
  try {
    const { statusCode, headers, body } = await request(url, options);
    // A body given up before it was read raises an error of its own; unheard it would end the process.
    body.on("error", ignoreError);
    return {
      status: statusCode,
      headers: { get: (name) => readHeader(headers[name.toLowerCase()]) },
      body: toChunks(body, { onLeave: () => body.destroy(), toError: toTransportError }),
      cancel: () => void body.destroy(),
    };
  } catch (error) {
    throw toTransportError(error);
  }
}

/** Whoever reads the body is told as well. */
function ignoreError(): void {}

function readHeader(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}

function toTransportError(error: unknown): TransportError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (isUnreachableCode(code)) return new TransportError("unreachable", error);
  return new TransportError(TIMED_OUT.has(code) ? "timeout" : "broken", error);
}
