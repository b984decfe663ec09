import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createBitmap } from "@calotype/conformance/support/create-bitmap";
import { type Call, open, responseTo } from "@calotype/conformance/support/http-client";
import { chance, drawInt, pick, type Random } from "../../grammar/draw.ts";
import { BEHAVIOURS, type Behaviour } from "./provider.ts";
import { KEY, MODEL } from "./server-plan.ts";

/** Several clients that each send one request after another. */
export interface Load {
  /** The number of requests so far. */
  readonly requests: () => number;
  /** The unexpected statuses. */
  readonly unexpected: () => readonly string[];
  /** Runs the clients for this time, and waits until the last request has ended. */
  run(ms: number): Promise<void>;
  close(): void;
}

const CLIENTS = 12;
/** The file of a form. */
const IMAGE = createBitmap(256, 256);
const MAX_LEAVE_MS = 25;

export function createLoad(url: string, random: Random): Load {
  const agent = new Agent({ keepAlive: true });
  const unexpected: string[] = [];
  let requests = 0;
  const callOnce = async (): Promise<void> => {
    requests++;
    const behaviour = pick(random, MIX);
    const leaveAfterMs = chance(random, 0.1) ? drawInt(random, 0, MAX_LEAVE_MS) : undefined;
    const status = await send(url, drawCall(random, behaviour, requests), { agent, leaveAfterMs });
    if (status !== undefined && !EXPECTED[behaviour].includes(status))
      unexpected.push(`${behaviour}: ${status}`);
  };
  return {
    requests: () => requests,
    unexpected: () => unexpected,
    async run(ms) {
      const end = Date.now() + ms;
      const client = async (): Promise<void> => {
        while (Date.now() < end) await callOnce();
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
    },
    close: () => agent.destroy(),
  };
}

/** Most requests get an image. */
const MIX: readonly Behaviour[] = [...BEHAVIOURS, "image", "image", "image", "image", "image", "large image"];

/** A stream has its 200 before its connection breaks. */
const EXPECTED: Readonly<Record<Behaviour, readonly number[]>> = {
  image: [200],
  "large image": [200],
  refusal: [400],
  overload: [502],
  "broken connection": [200, 502],
};

function drawCall(random: Random, behaviour: Behaviour, number: number): Call {
  const headers = {
    authorization: `Bearer ${KEY}`,
    ...(chance(random, 0.2) && { "idempotency-key": `request-${number}` }),
  };
  const fields = { model: MODEL, prompt: behaviour, size: "2048x2048" };
  if (chance(random, 0.2)) return formCall(fields, headers);
  const isStream = behaviour !== "large image" && chance(random, 0.3);
  return {
    path: "/v1/images/generations",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ ...fields, ...(isStream && { stream: true }) }),
  };
}

const BOUNDARY = "----harden";

function formCall(fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>): Call {
  const head = (name: string, rest = ""): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const texts = Object.entries(fields).map(([name, value]) => `${head(name)}${value}\r\n`);
  return {
    path: "/v1/images/edits",
    headers: { ...headers, "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.concat([
      Buffer.from(texts.join("") + head("image", '; filename="a.bmp"')),
      IMAGE,
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]),
  };
}

interface SendOptions {
  readonly agent: Agent;
  readonly leaveAfterMs: number | undefined;
}

/** Returns the status, unless the client disconnected first. */
async function send(
  url: string,
  call: Call,
  { agent, leaveAfterMs }: SendOptions,
): Promise<number | undefined> {
  const outgoing = open(url, call, agent);
  const left = new AbortController();
  if (leaveAfterMs !== undefined) {
    void sleep(leaveAfterMs).then(() => {
      left.abort();
      return outgoing.destroy();
    });
  }
  const { body } = call;
  outgoing.end(typeof body === "string" || body instanceof Uint8Array ? body : undefined);
  try {
    const incoming = await responseTo(outgoing);
    for await (const _ of incoming);
    return left.signal.aborted ? undefined : incoming.statusCode;
  } catch {
    // The client disconnected, or the response broke off on purpose.
    return undefined;
  }
}
