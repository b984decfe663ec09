import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type Plan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule, type Seen } from "../check-response.ts";
import { cutAt, fromBytes, insertKey, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { drawReplyBytes, type RawReplyInput, VALID_RAW_REPLY } from "../grammar/raw-replies.ts";
import { GENERATIONS, type RequestInput, SEEDREAM } from "../grammar/requests.ts";
import type { Finding, Part } from "../part.ts";
import { describeSeen, sendRequest } from "../send-request.ts";
import { CHANNEL_KEY, findKeys, openSubject, PRICE, type Subject, settles } from "../subject.ts";

/** Providers that say nothing are given up after this time. */
const SILENCE_MS = 200;

/** Bytes of providers on a real connection. */
export const providerSockets: Part<RawReplyInput> = {
  name: "provider-sockets",
  guarantees:
    "A provider sends raw bytes over a TCP connection, in one or many packets: heads that are malformed, long " +
    "or of another version, 1xx responses, wrong lengths and chunks, bytes after the end, responses before the " +
    "request was read, connections that are closed, reset or silent. The client gets images, a 502, a 504 or " +
    "the provider's refusal. Each call leaves one record and no hold, the charge is at most the hold, and the " +
    "next request on the same gateway gets its images.",
  isParallel: true,
  run: (context) => runBatches(context, PLAN, () => drawReplyBytes(context.random)),
  replay: (input, context) => replayAlone(context, PLAN, input),
  *shrink(input) {
    if (input.cuts.length > 0) yield { ...input, cuts: [] };
    if (input.isEarly) yield { ...input, isEarly: false };
    if (input.ending !== "ends") yield { ...input, ending: "ends" };
    for (const bytes of shrinkBytes(fromBytes(input.bytes))) yield { ...input, bytes: toBytes(bytes) };
  },
};

interface Bench {
  readonly subject: Subject;
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  setReply(input: RawReplyInput): void;
  /** Requests since the last time. */
  takeRequests(): number;
}

const PLAN: Plan<Bench, RawReplyInput> = {
  size: 50,
  figure: "connections",
  open: openBench,
  tryInput: tryReply,
  close: closeBench,
};

async function openBench(): Promise<Bench> {
  let current = VALID_RAW_REPLY;
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => {
      received += text;
      const isWhole = received.endsWith("}");
      if (!isWhole && !(current.isEarly && received.includes("\r\n\r\n"))) return;
      if (isWhole) received = "";
      requests += 1;
      void reply(socket, current);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  const timeouts = { connectMs: 2_000, firstByteMs: SILENCE_MS, idleMs: SILENCE_MS };
  const baseUrl = `http://127.0.0.1:${address.port}/api/v3`;
  const subject = openSubject(undefined, {
    models: { [SEEDREAM]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl, timeouts }],
  });
  return {
    subject,
    server,
    sockets,
    setReply(input) {
      current = input;
    },
    takeRequests() {
      const taken = requests;
      requests = 0;
      return taken;
    },
  };
}

async function reply(socket: Socket, { bytes, cuts, ending }: RawReplyInput): Promise<void> {
  for (const packet of cutAt(insertKey(fromBytes(bytes), "$CHANNEL_KEY", CHANNEL_KEY), cuts)) {
    socket.write(packet);
    if (cuts.length > 0) await pause(1);
  }
  if (ending === "ends") socket.end();
  if (ending === "resets") socket.resetAndDestroy();
}

async function closeBench({ subject, server, sockets }: Bench): Promise<string | undefined> {
  const problem = await subject.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, "close");
  return problem;
}

async function tryReply(bench: Bench, input: RawReplyInput): Promise<Finding<RawReplyInput> | undefined> {
  const first = await tryOnce(bench, input, false);
  if (first !== undefined) return first;
  // The provider may end a connection just when it is used again: a second try is on a new one.
  let last: Finding<RawReplyInput> | undefined;
  for (let tries = 0; tries < 3; tries += 1) {
    last = await tryOnce(bench, VALID_RAW_REPLY, true);
    if (last === undefined) return undefined;
  }
  return last && { ...last, rule: `afterwards, ${last.rule}`, input };
}

async function tryOnce(
  bench: Bench,
  input: RawReplyInput,
  mustWork: boolean,
): Promise<Finding<RawReplyInput> | undefined> {
  const { subject } = bench;
  bench.setReply(input);
  const work = sendRequest(subject, input.isStream ? STREAM : JSON_REQUEST);
  if (work === undefined || !(await settles(work)))
    return { rule: "every upstream response gives a response", input };
  const seen = await work;
  const rule =
    ((await subject.holdsEnd()) ? undefined : "every hold ends") ??
    judgeResponse(seen, mustWork) ??
    judgeMoney(bench, mustWork) ??
    (findKeys(`${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${subject.takeOutput()}`)
      .length === 0
      ? undefined
      : "no key is in any output");
  return rule === undefined ? undefined : { rule, input, seen: describeSeen(seen) };
}

function judgeResponse(seen: Seen, mustWork: boolean): string | undefined {
  if (mustWork && seen.status !== 200) return "a valid upstream response gives images";
  if (seen.status >= 500 && seen.status !== 502 && seen.status !== 504)
    return "a provider's failure is a 502 or a 504";
  return findBrokenRule(seen, "provider");
}

function judgeMoney(bench: Bench, mustWork: boolean): string | undefined {
  const records = bench.subject.takeRecords();
  const held = bench.subject.takeHeld();
  const requests = bench.takeRequests();
  const charge = records.reduce((sum, record) => sum + Number(record.charge), 0);
  if (requests > 0 && records.length !== 1) return "one record for one call of the provider";
  if (mustWork && charge !== PRICE) return "a valid upstream response is charged by its images";
  return charge >= 0 && charge <= held ? undefined : "a charge is at most the hold";
}

function toRequest(fields: object): RequestInput {
  return {
    via: "handle",
    method: "POST",
    path: GENERATIONS,
    headers: [
      ["authorization", "Bearer $CALLER_KEY"],
      ["content-type", "application/json"],
    ],
    body: { text: JSON.stringify({ model: SEEDREAM, prompt: "x", ...fields }) },
    cuts: [],
    ending: "whole",
    reader: "reads",
    isValid: true,
  };
}

const JSON_REQUEST = toRequest({});
const STREAM = toRequest({ stream: true });
