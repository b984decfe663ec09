import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { toNodeHandler } from "@calotype/node";
import { type BatchPlan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule } from "../check-response.ts";
import { cutAt, fromBytes, insertKey, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { type ConnectionInput, drawConnection } from "../grammar/connections.ts";
import { listen } from "../listen.ts";
import { type ParsedResponse, parseResponses } from "../parse-responses.ts";
import type { Finding, Part } from "../part.ts";
import {
  createSimulatedProvider,
  makeImages,
  planReply,
  type SimulatedProvider,
} from "../simulated-provider.ts";
import {
  CALLER_KEY,
  findKeys,
  openWatchedGateway,
  PRICE,
  settles,
  type WatchedGateway,
} from "../watched-gateway.ts";

/** Raw connections to the Node adapter. */
export const clientSockets: Part<ConnectionInput> = {
  name: "client-sockets",
  guarantees:
    "Sends raw bytes over TCP connections to `@calotype/node`. Inputs: valid JSON and forms with a length or in " +
    "chunks, pipelined or split into several packets; lengths and codings that parsers interpret differently, " +
    "with a second request hidden in the body; malformed heads, incomplete bodies, reset connections. Every " +
    "valid request gets its images in order. Every response is framed correctly, every connection ends, a " +
    "hidden request is never run, and the rules of `requests` hold.",
  isParallel: true,
  run: (context) => runBatches(context, PLAN, () => drawConnection(context.random)),
  replay: (input, context) => replayAlone(context, PLAN, input),
  *shrink(input) {
    if (input.cuts.length > 0) yield { ...input, cuts: [] };
    if (input.ending === "resets") yield { ...input, ending: "ends" };
    if (input.statuses !== null || input.isHidden) return;
    for (const bytes of shrinkBytes(fromBytes(input.bytes))) yield { ...input, bytes: toBytes(bytes) };
  },
};

interface Fixture {
  readonly watched: WatchedGateway;
  readonly provider: SimulatedProvider;
  readonly server: Server;
  readonly port: number;
}

const PLAN: BatchPlan<Fixture, ConnectionInput> = {
  size: 200,
  figure: "connections",
  open: openFixture,
  tryInput: tryConnection,
  close: closeFixture,
};

async function openFixture(): Promise<Fixture> {
  const provider = createSimulatedProvider(makeImages);
  const watched = openWatchedGateway(provider.transport, { limits: { concurrent: 8 } });
  const server = createServer(toNodeHandler(watched.gateway));
  return { watched, provider, server, port: await listen(server) };
}

async function closeFixture({ watched, server }: Fixture): Promise<string | undefined> {
  const problem = await watched.close();
  server.close();
  const isClosed = await settles(once(server, "close"));
  server.closeAllConnections();
  return problem ?? (isClosed ? undefined : "the server closes when no connection is open");
}

async function tryConnection(
  fixture: Fixture,
  input: ConnectionInput,
): Promise<Finding<ConnectionInput> | undefined> {
  const { watched, provider } = fixture;
  const work = converse(fixture.port, input);
  if (!(await settles(work))) return { rule: "every connection ends", input };
  const received = await work;
  // The reset reaches the server a moment later.
  if (input.ending === "resets") await pause(5);
  const isEnded = await watched.holdsEnd();
  const calls = provider.takeCalls();
  const records = watched.takeRecords();
  const images = calls.reduce((sum, call) => sum + planReply(call).images, 0);
  const charge = records.reduce((sum, record) => sum + Number(record.charge), 0);
  const output = `${received.toString("latin1")}${watched.takeOutput()}`;
  const rule =
    (isEnded ? undefined : "every hold ends") ??
    checkResponses(input, received) ??
    (input.isHidden && calls.some(({ body }) => body.includes('"HIDDEN"'))
      ? "a hidden request is never run"
      : undefined) ??
    (records.length === calls.length ? undefined : "one record for one call of the provider") ??
    (charge === images * PRICE ? undefined : "the charge is that of the images made") ??
    (findKeys(output).length === 0 ? undefined : "no key is in any output");
  return rule === undefined ? undefined : { rule, input, seen: received.toString("latin1").slice(0, 2_000) };
}

/** Sends all bytes and reads until the server ends the connection. */
async function converse(port: number, { bytes, cuts, ending }: ConnectionInput): Promise<Buffer> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const received: Buffer[] = [];
  socket.on("data", (chunk) => received.push(chunk));
  // The server may reset a connection after it has refused a request.
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await Promise.race([new Promise((resolve) => socket.once("connect", resolve)), closed]);
  for (const packet of cutAt(insertKey(fromBytes(bytes), "$CALLER_KEY", CALLER_KEY), cuts)) {
    socket.write(packet);
    if (cuts.length > 0) await pause(1);
  }
  if (ending === "resets") socket.resetAndDestroy();
  else socket.end();
  await closed;
  return Buffer.concat(received);
}

function checkResponses(input: ConnectionInput, received: Buffer): string | undefined {
  const { responses, problem } = parseResponses(received);
  if (input.ending === "resets") return undefined;
  if (problem !== undefined) return problem;
  const final = responses.filter(({ status }) => status >= 200);
  if (input.statuses !== null && final.map(({ status }) => status).join() !== input.statuses.join()) {
    return "valid requests get their responses in order";
  }
  return final.map(checkResponse).find((rule) => rule !== undefined);
}

function checkResponse(response: ParsedResponse): string | undefined {
  // Node's parser refuses some requests itself.
  const isFromParser =
    response.headers["x-request-id"] === undefined && response.body.length === 0 && response.status < 500;
  if (isFromParser) return undefined;
  if (response.status >= 500) return "bad input is never a 5xx";
  return response.isHead ? undefined : findBrokenRule(response);
}
