import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createBitmap } from "@calotype/conformance/support/create-bitmap";
import { type Call, open, responseTo } from "@calotype/conformance/support/http-client";
import { chance, drawInt, pick, type Random } from "../../grammar/draw.ts";
import { WISHES, type Wish } from "./provider.ts";
import { KEY, MODEL } from "./server-plan.ts";

/** Clients that call one after another until they are paused. */
export interface Load {
  /** Requests so far. */
  readonly requests: () => number;
  /** Statuses that no client should have got. */
  readonly unexpected: () => readonly string[];
  /** Lets the clients call for so long, and waits until the last request has ended. */
  run(ms: number): Promise<void>;
  close(): void;
}

const CLIENTS = 12;
/** A request with a large body, for every so many. */
const PICTURE = createBitmap(256, 256);
const LONGEST_STAY_MS = 25;

export function createLoad(url: string, random: Random): Load {
  const agent = new Agent({ keepAlive: true });
  const unexpected: string[] = [];
  let requests = 0;
  const callOnce = async (): Promise<void> => {
    requests++;
    const wish = pick(random, LIKELY);
    const leaveAfterMs = chance(random, 0.1) ? drawInt(random, 0, LONGEST_STAY_MS) : undefined;
    const status = await send(url, drawCall(random, wish, requests), { agent, leaveAfterMs });
    if (status !== undefined && !EXPECTED[wish].includes(status)) unexpected.push(`${wish}: ${status}`);
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

/** Most requests make images. */
const LIKELY: readonly Wish[] = [...WISHES, "image", "image", "image", "image", "image", "large image"];

/** An overload of one channel may be one of both. A stream has its 200 before it breaks. */
const EXPECTED: Readonly<Record<Wish, readonly number[]>> = {
  image: [200],
  "large image": [200],
  refusal: [400],
  overload: [502],
  "broken connection": [200, 502],
};

function drawCall(random: Random, wish: Wish, number: number): Call {
  const headers = {
    authorization: `Bearer ${KEY}`,
    ...(chance(random, 0.2) && { "idempotency-key": `request-${number}` }),
  };
  const fields = { model: MODEL, prompt: wish, size: "2048x2048" };
  if (chance(random, 0.2)) return formCall(fields, headers);
  const isStream = wish !== "large image" && chance(random, 0.3);
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
      PICTURE,
      Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
    ]),
  };
}

interface Stay {
  readonly agent: Agent;
  readonly leaveAfterMs: number | undefined;
}

/** The status, where the client stayed for it. */
async function send(url: string, call: Call, { agent, leaveAfterMs }: Stay): Promise<number | undefined> {
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
    // The client left, or the response broke off, as some are meant to.
    return undefined;
  }
}
