import { Agent, type Dispatcher } from "undici";
import { remember } from "../remember.js";
import type { ProducedBody } from "../upstream-call.js";
import { guardedLookup } from "./guarded-lookup.js";
import type { Timeouts, Transport, TransportRequest } from "./transport.js";
import { exchange } from "./undici-answer.js";

/** What a socket holds before it makes its writer wait: at most the chunks of a body that are used again. */
const SOCKET_BYTES = 64 * 1024;

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
  const findAddress = remember(toAddress);
  let closed: Promise<unknown> | undefined;
  return {
    send({ url, headers, body, timeouts }) {
      const { origin, path } = findAddress(url);
      return exchange(open.get(timeouts), {
        method: "POST",
        origin,
        path,
        headers: typeof body === "string" ? headers : withLength(headers, body),
        body: typeof body === "string" ? body : toIterable(body),
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.idleMs,
      });
    },
    download({ url, timeouts, publicOnly }) {
      const { origin, path } = toAddress(url);
      return exchange((publicOnly ? guarded : open).get(timeouts), {
        method: "GET",
        origin,
        path,
        headersTimeout: timeouts.firstByteMs,
        bodyTimeout: timeouts.idleMs,
      });
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
  return (body.chunks?.({ reuse: true }) ?? body) as unknown as string;
}
