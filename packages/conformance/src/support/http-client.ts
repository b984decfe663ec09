import { type Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** A request of the test suites. */
export interface Call {
  /** Default `POST`. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A list is sent in chunks, without a `content-length`. */
  readonly body?: string | Uint8Array | readonly string[] | undefined;
}

/** A complete response. */
export interface ReadResponse {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends a request on a new connection and reads the complete response. */
export async function send(origin: string, call: Call): Promise<ReadResponse> {
  const outgoing = open(origin, call);
  const answered = readResponse(outgoing);
  if (isList(call.body)) for (const chunk of call.body) outgoing.write(chunk);
  outgoing.end(isList(call.body) ? undefined : call.body);
  return answered;
}

/** Sends the head of a request without its body, on a new connection or on one of the agent. */
export function open(
  origin: string,
  { method = "POST", path, headers = {} }: Call,
  agent: Agent | false = false,
): ClientRequest {
  return request(origin + path, { method, headers, agent });
}

/** Reads the complete response to a request. Rejects if the connection breaks before its end. */
export async function readResponse(outgoing: ClientRequest): Promise<ReadResponse> {
  const incoming = await responseTo(outgoing);
  return {
    status: incoming.statusCode ?? 0,
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    ),
    text: await text(incoming),
  };
}

/** Resolves with the head of the response. Rejects if the connection breaks before that. */
export function responseTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once("response", resolve);
    // Not removed, because a server that refuses an upload may reset the connection after its response was
    // read.
    outgoing.on("error", reject);
  });
}

function isList(body: Call["body"]): body is readonly string[] {
  return Array.isArray(body);
}
