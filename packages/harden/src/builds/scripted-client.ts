import type { Gateway } from "@calotype/core";
import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import { cutAt } from "../grammar/bytes.ts";
import { CALLER_KEY } from "./draw-scenario.ts";
import type { ClientCall } from "./scenario.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What a client of a scenario needs. */
export interface ClientParts {
  readonly gateway: Gateway;
  readonly time: VirtualTime;
  /** Whether the ledger has settled the request with this id. */
  readonly isSettled: (id: string) => boolean;
}

const FOLLOWS_AFTER_MS = 0.25;

type Exchange = Pick<ClientCall, "path" | "leavesAfterMs"> & {
  readonly method: "GET" | "POST";
  readonly headers: ClientCall["headers"];
  readonly body: AsyncIterable<Uint8Array> | null;
};

/** Sends a request, and follows its task if it became one. Returns what the client saw, line by line. */
export async function sendCall(call: ClientCall, parts: ClientParts): Promise<readonly string[]> {
  const { lines, body } = await exchange({ ...call, method: "POST", body: toChunks(call) }, parts);
  const task = /"id":"(task_\w+)"/.exec(body)?.[1];
  if (task === undefined || call.leavesAfterMs !== undefined) return lines;
  const tasks = "/v1/images/tasks";
  const [method, path] = (
    {
      waits: ["GET", `${tasks}/${task}?wait=60`],
      watches: ["GET", `${tasks}/${task}/events`],
      cancels: ["POST", `${tasks}/${task}/cancel`],
      lists: ["GET", tasks],
    } as const
  )[call.follows];
  const headers = { authorization: `Bearer ${CALLER_KEY}` };
  // The task has begun by then.
  await parts.time.sleep(FOLLOWS_AFTER_MS);
  const follow = { method, path, headers, body: null, leavesAfterMs: undefined };
  return [...lines, ...(await exchange(follow, parts)).lines];
}

async function* toChunks({ body, cuts }: ClientCall): AsyncGenerator<Uint8Array> {
  // Copies, because the gateway may keep or free the chunks.
  for (const chunk of cutAt(body, cuts)) yield Uint8Array.from(chunk);
}

async function exchange(
  { method, path, headers, body, leavesAfterMs }: Exchange,
  { gateway, time, isSettled }: ClientParts,
): Promise<{ readonly lines: readonly string[]; readonly body: string }> {
  const leaving = new AbortController();
  const request: GatewayRequest = {
    method,
    url: `http://gateway.example${path}`,
    headers: new Headers(headers),
    body,
    signal: leaving.signal,
  };
  const cancel = leavesAfterMs === undefined ? undefined : time.after(leavesAfterMs, () => leaving.abort());
  const response = await gateway.handle(request);
  if (response === null) return { lines: ["The path belongs to no endpoint."], body: "" };
  const id = response.headers["x-request-id"] ?? "";
  const { text, end, wasSettled } = await readBody(response.body, leaving.signal, () => isSettled(id));
  cancel?.();
  const lines = [
    `${method} ${path}`,
    `status ${response.status}`,
    ...Object.entries(response.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .toSorted(),
    ...text.split("\n"),
    end,
    `settled before the last bytes: ${wasSettled}`,
  ];
  return { lines, body: text };
}

/** What a client got of a body. */
interface SeenBody {
  /** One character for each byte. */
  readonly text: string;
  readonly end: string;
  /** Whether the request was settled when the last bytes came: they wait for the charge. */
  readonly wasSettled: boolean;
}

/**
 * Reads a body like a host: to its end, or until the client leaves. The bytes are compared, and not how they are cut into
 * chunks. A client leaves at a moment in virtual time, so that it has all bytes that were sent until then.
 */
async function readBody(
  body: GatewayResponse["body"],
  left: AbortSignal,
  isSettled: () => boolean,
): Promise<SeenBody> {
  let wasSettled = isSettled();
  if (typeof body === "string" || body instanceof Uint8Array) {
    const end = left.aborted ? "left before the response" : "complete";
    return { text: Buffer.from(body).toString("latin1"), end, wasSettled };
  }
  const chunks = body[Symbol.asyncIterator]();
  const leave = (): void => void chunks.return?.().catch(() => undefined);
  left.addEventListener("abort", leave);
  if (left.aborted) leave();
  let text = "";
  let end = "complete";
  try {
    for (let next = await chunks.next(); next.done !== true && !left.aborted; next = await chunks.next()) {
      text += Buffer.from(next.value).toString("latin1");
      wasSettled = isSettled();
    }
  } catch (error) {
    end = `broken: ${String(error)}`;
  }
  return { text, end: left.aborted ? "left" : end, wasSettled };
}
