import { type Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** A request as the suites write it. */
export interface Call {
  /** Default `POST`. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A list is sent in chunks, without a `content-length`. */
  readonly body?: string | Uint8Array | readonly string[] | undefined;
}

/** A whole answer. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends a call on a connection of its own and reads the answer to its end. */
export async function send(origin: string, call: Call): Promise<Answer> {
  const outgoing = open(origin, call);
  const answered = readAnswer(outgoing);
  if (isList(call.body)) for (const chunk of call.body) outgoing.write(chunk);
  outgoing.end(isList(call.body) ? undefined : call.body);
  return answered;
}

/** Begins a call and sends nothing of its body; on a connection of its own, or on one of the agent's. */
export function open(
  origin: string,
  { method = "POST", path, headers = {} }: Call,
  agent: Agent | false = false,
): ClientRequest {
  return request(origin + path, { method, headers, agent });
}

/** The answer to a request, read to its end. Rejects when the connection breaks before it. */
export async function readAnswer(outgoing: ClientRequest): Promise<Answer> {
  const incoming = await responseTo(outgoing);
  return {
    status: incoming.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    ),
    text: await text(incoming),
  };
}

/** The head of the answer to a request. Rejects when the connection breaks before it. */
export function responseTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once("response", resolve);
    // Stays: a server that refuses an upload may reset the connection after its answer was read.
    outgoing.on("error", reject);
  });
}

function isList(body: Call["body"]): body is readonly string[] {
  return Array.isArray(body);
}
