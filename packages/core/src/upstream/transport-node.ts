// oxlint-disable-next-line import/no-unassigned-import -- It checks the version of Node, and must come first.
import "#node-version";
import { Agent, buildConnector, type Dispatcher } from "undici";
import type { ProducedBody } from "../images/json-body.js";
import { lendChunks } from "../images/lend-chunks.js";
import { remember } from "../util/remember.js";
import { createStallWatch } from "../util/stall-watch.js";
import { guardedLookup } from "./guarded-lookup.js";
import { createHttp2Origins } from "./http2-origins.js";
import { skippingContinue } from "./skip-continue.js";
import type { Timeouts, Transport, TransportRequest } from "./transport.js";
import { exchange } from "./undici-answer.js";

/** What a socket holds before it makes its writer wait: at most the chunks of a body that are used again. */
const SOCKET_BYTES = 64 * 1024;

/** The transport of Node: `undici` on agents of its own, one for each connect timeout. */
export function createTransport(): Transport {
  const watch = createStallWatch();
  const http2Origins = createHttp2Origins();
  const createAgent = (options: buildConnector.BuildOptions): Agent =>
    new Agent({ connect: http2Origins.learnFrom(skippingContinue(buildConnector(options))) });
  const open = createAgents((connectMs) => {
    // The types know no options of sockets, of which all are handed on.
    const options = { timeout: connectMs, highWaterMark: SOCKET_BYTES };
    return createAgent(options);
  });
  const guarded = createAgents((connectMs) => createAgent({ timeout: connectMs, lookup: guardedLookup }));
  /** Over HTTP/2 it is by these that undici learns of a dead connection, and replaces it: see docs/decisions/0017. */
  const findUndiciTimeouts = (origin: string, { firstByteMs, idleMs }: Timeouts): UndiciTimeouts =>
    http2Origins.has(origin) ? { headersTimeout: firstByteMs, bodyTimeout: idleMs } : NO_TIMEOUTS;
  const findAddress = remember(toAddress);
  let closed: Promise<unknown> | undefined;
  return {
    send({ url, headers, body, timeouts }) {
      const { origin, path } = findAddress(url);
      const { headersTimeout, bodyTimeout } = findUndiciTimeouts(origin, timeouts);
      const options = {
        method: "POST",
        origin,
        path,
        headers: typeof body === "string" ? headers : withLength(headers, body),
        body: typeof body === "string" ? body : toIterable(body),
        headersTimeout,
        bodyTimeout,
        // Else undici looks for a request to send behind it when the head comes; a connection has one at a time.
        blocking: false,
      } as const;
      return exchange(open.get(timeouts), options, { watch, timeouts });
    },
    download({ url, timeouts, publicOnly }) {
      const { origin, path } = toAddress(url);
      const options = { method: "GET", origin, path, ...findUndiciTimeouts(origin, timeouts) } as const;
      return exchange((publicOnly ? guarded : open).get(timeouts), options, { watch, timeouts });
    },
    async close() {
      closed ??= Promise.all([open.close(), guarded.close()]);
      await closed;
    },
    async abort() {
      await Promise.all([open.destroy(), guarded.destroy()]);
    },
  };
}

type UndiciTimeouts = Required<Pick<Dispatcher.DispatchOptions, "headersTimeout" | "bodyTimeout">>;

const NO_TIMEOUTS: UndiciTimeouts = { headersTimeout: 0, bodyTimeout: 0 };

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

interface Address {
  readonly origin: string;
  readonly path: string;
}

function toAddress(url: string): Address {
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
}

function withLength(headers: TransportRequest["headers"], body: ProducedBody): Record<string, string> {
  return { ...headers, "content-length": String(body.byteLength) };
}

function toIterable(body: ProducedBody): NonNullable<Dispatcher.DispatchOptions["body"]> {
  // It waits until the socket has taken all before it asks for more, where a chunk fills what the socket holds.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it takes all that can be iterated; its types do not say so.
  return lendChunks(body) as unknown as string;
}
