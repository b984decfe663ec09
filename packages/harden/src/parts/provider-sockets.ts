import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type BatchPlan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule, type SeenResponse } from "../check-response.ts";
import { cutAt, fromBytes, insertKey, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import {
  drawRawUpstreamInput,
  type RawUpstreamInput,
  VALID_RAW_RESPONSE,
} from "../grammar/raw-upstream-responses.ts";
import { createJsonRequest, SEEDREAM } from "../grammar/requests.ts";
import { listen } from "../listen.ts";
import type { Finding, Part } from "../part.ts";
import { describeSeen, sendRequest } from "../send-request.ts";
import {
  CHANNEL_KEY,
  findKeys,
  openWatchedGateway,
  PRICE,
  settles,
  type WatchedGateway,
} from "../watched-gateway.ts";

/** The gateway waits this long for a silent provider. */
const SILENCE_MS = 200;

/** Raw bytes of a provider on a TCP connection. */
export const providerSockets: Part<RawUpstreamInput> = {
  name: "provider-sockets",
  guarantees:
    "A provider sends raw bytes over a TCP connection, in one or many packets: heads that are malformed, long " +
    "or of another version, 1xx responses, wrong lengths and chunks, bytes after the end, responses before the " +
    "request was read, connections that are closed, reset or silent. The client gets images, a 502, a 504 or " +
    "the provider's refusal. Each call leaves one record and no hold, the charge is at most the hold, and the " +
    "next request on the same gateway gets its images.",
  isParallel: true,
  run: (context) => runBatches(context, PLAN, () => drawRawUpstreamInput(context.random)),
  replay: (input, context) => replayAlone(context, PLAN, input),
  *shrink(input) {
    if (input.cuts.length > 0) yield { ...input, cuts: [] };
    if (input.isEarly) yield { ...input, isEarly: false };
    if (input.ending !== "ends") yield { ...input, ending: "ends" };
    for (const bytes of shrinkBytes(fromBytes(input.bytes))) yield { ...input, bytes: toBytes(bytes) };
  },
};

interface Fixture {
  readonly watched: WatchedGateway;
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  setReply(input: RawUpstreamInput): void;
  /** Returns the number of requests since the last time. */
  takeRequests(): number;
}

const PLAN: BatchPlan<Fixture, RawUpstreamInput> = {
  size: 50,
  figure: "connections",
  open: openFixture,
  tryInput: tryReply,
  close: closeFixture,
};

async function openFixture(): Promise<Fixture> {
  let current = VALID_RAW_RESPONSE;
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
  const port = await listen(server);
  const timeouts = { connectSeconds: 2, firstByteSeconds: SILENCE_MS / 1000, idleSeconds: SILENCE_MS / 1000 };
  const baseUrl = `http://127.0.0.1:${port}/api/v3`;
  const watched = openWatchedGateway(undefined, {
    models: { [SEEDREAM]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl, timeouts }],
  });
  return {
    watched,
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

async function reply(socket: Socket, { bytes, cuts, ending }: RawUpstreamInput): Promise<void> {
  for (const packet of cutAt(insertKey(fromBytes(bytes), "$CHANNEL_KEY", CHANNEL_KEY), cuts)) {
    socket.write(packet);
    if (cuts.length > 0) await pause(1);
  }
  if (ending === "ends") socket.end();
  if (ending === "resets") socket.resetAndDestroy();
}

async function closeFixture({ watched, server, sockets }: Fixture): Promise<string | undefined> {
  const problem = await watched.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, "close");
  return problem;
}

async function tryReply(
  fixture: Fixture,
  input: RawUpstreamInput,
): Promise<Finding<RawUpstreamInput> | undefined> {
  const first = await tryOnce(fixture, input, false);
  if (first !== undefined) return first;
  // The provider may close a connection while the gateway reuses it. The next try uses a new connection.
  let last: Finding<RawUpstreamInput> | undefined;
  for (let tries = 0; tries < 3; tries += 1) {
    last = await tryOnce(fixture, VALID_RAW_RESPONSE, true);
    if (last === undefined) return undefined;
  }
  return last && { ...last, rule: `afterwards, ${last.rule}`, input };
}

async function tryOnce(
  fixture: Fixture,
  input: RawUpstreamInput,
  mustWork: boolean,
): Promise<Finding<RawUpstreamInput> | undefined> {
  const { watched } = fixture;
  fixture.setReply(input);
  const work = sendRequest(watched, input.isStream ? STREAM : JSON_REQUEST);
  if (work === undefined || !(await settles(work)))
    return { rule: "every upstream response gives a response", input };
  const seen = await work;
  const rule =
    ((await watched.holdsEnd()) ? undefined : "every hold ends") ??
    checkResponse(seen, mustWork) ??
    checkMoney(fixture, mustWork) ??
    (findKeys(`${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${watched.takeOutput()}`)
      .length === 0
      ? undefined
      : "no key is in any output");
  return rule === undefined ? undefined : { rule, input, seen: describeSeen(seen) };
}

function checkResponse(seen: SeenResponse, mustWork: boolean): string | undefined {
  if (mustWork && seen.status !== 200) return "a valid upstream response gives images";
  if (seen.status >= 500 && seen.status !== 502 && seen.status !== 504)
    return "a provider's failure is a 502 or a 504";
  return findBrokenRule(seen, "provider");
}

function checkMoney(fixture: Fixture, mustWork: boolean): string | undefined {
  const records = fixture.watched.takeRecords();
  const held = fixture.watched.takeHeld();
  const requests = fixture.takeRequests();
  const charge = records.reduce((sum, record) => sum + Number(record.charge), 0);
  if (requests > 0 && records.length !== 1) return "one record for one call of the provider";
  if (mustWork && charge !== PRICE) return "a valid upstream response is charged by its images";
  return charge >= 0 && charge <= held ? undefined : "a charge is at most the hold";
}

const JSON_REQUEST = createJsonRequest({ model: SEEDREAM, prompt: "x" });
const STREAM = createJsonRequest({ model: SEEDREAM, prompt: "x", stream: true });
