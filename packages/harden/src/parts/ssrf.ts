import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import type { GatewayOptions } from "@calotype/core";
import { type LinkInput, listLinks } from "../grammar/links.ts";
import { GENERATIONS, QWEN_IMAGE, type RequestInput } from "../grammar/requests.ts";
import type { Finding, Part } from "../part.ts";
import { describeSeen, sendRequest } from "../send-request.ts";
import { CHANNEL_KEY, findKeys, openSubject, PRICE, type Subject, settles } from "../subject.ts";
import { isPublic, type WatchedNetwork, watchNetwork } from "../watched-network.ts";

/** Result links that lead where they must not. */
export const ssrf: Part<LinkInput> = {
  name: "ssrf",
  guarantees:
    "A provider returns result links that are downloaded for `b64_json`: private, reserved and tunnel addresses " +
    "of IPv4 and IPv6 in every spelling, other schemes, ports, user names, redirects, and names that resolve to " +
    "such addresses, also beside public ones or only the second time. Both transports are used, that of Node " +
    "and `fetch`. No connection goes to an address that is not public, except to the channel's own loopback " +
    "origin. The image stays a link and is charged once.",
  async run(context) {
    const bench = await openBench();
    const links = listLinks(bench.origin)
      .map((input) => ({ input, place: context.random() }))
      .toSorted((a, b) => a.place - b.place);
    for (const { input } of links) {
      if (context.isOver()) break;
      context.begin(input);
      context.count("links");
      const found = await tryLink(bench, input);
      if (found !== undefined) await context.report(found);
    }
    await bench.close();
  },
  async replay(input, context) {
    const bench = await openBench();
    const found = await tryLink(bench, input);
    if (found !== undefined) await context.report(found);
    await bench.close();
  },
};

interface Bench {
  readonly origin: string;
  readonly subject: Subject;
  /** The same gateway over `fetch`, as on Workers: it sees no addresses of names. */
  readonly fetchSubject: Subject;
  readonly network: WatchedNetwork;
  /** What the provider's server says from now on. */
  setInput(input: LinkInput): void;
  /** Paths of the downloads that came to the provider's own server. */
  takeDownloads(): readonly string[];
  /** Links that were downloaded over `fetch`. */
  takeFetched(): readonly Fetched[];
  close(): Promise<void>;
}

interface Fetched {
  readonly url: string;
  readonly redirect: string | undefined;
}

async function openBench(): Promise<Bench> {
  let current: LinkInput | undefined;
  let fetched: Fetched[] = [];
  let downloads: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") {
      downloads.push(request.url ?? "");
      response.writeHead(302, { location: current?.redirect ?? "/" }).end();
      return;
    }
    response.writeHead(200, { "content-type": "application/json" }).end(writeReply(current?.link));
  });
  const port = await listen(server);
  const origin = `http://127.0.0.1:${port}`;
  const network = watchNetwork(port);
  const options: Partial<GatewayOptions> = {
    channels: [{ id: "dashscope", family: "qwen-image", apiKey: CHANNEL_KEY, baseUrl: `${origin}/api/v1` }],
    models: { [QWEN_IMAGE]: { family: "qwen-image" } },
  };
  const subject = openSubject(undefined, options);
  const fetchSubject = openSubject(undefined, {
    ...options,
    async fetch(url, { method, redirect }) {
      if (method === "POST") return new Response(writeReply(current?.link));
      fetched.push({ url, redirect });
      throw new TypeError("fetch failed");
    },
  });
  return {
    origin,
    subject,
    fetchSubject,
    network,
    setInput(input) {
      current = input;
    },
    takeDownloads() {
      const taken = downloads;
      downloads = [];
      return taken;
    },
    takeFetched() {
      const taken = fetched;
      fetched = [];
      return taken;
    },
    async close() {
      await Promise.all([subject.close(), fetchSubject.close()]);
      network.restore();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function writeReply(image: string | undefined): string {
  const choices = [{ message: { content: [{ image }] } }];
  return JSON.stringify({ output: { choices }, usage: { image_count: 1 } });
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

async function tryLink(bench: Bench, input: LinkInput): Promise<Finding<LinkInput> | undefined> {
  // A recorded link may name the port of an earlier run.
  const link = input.link.replace(/^http:\/\/127\.0\.0\.1:\d+\/redirect$/, `${bench.origin}/redirect`);
  bench.setInput({ ...input, link });
  bench.network.resolveTo(input.addresses);
  const overFetch = await tryOverFetch(bench, link);
  if (overFetch !== undefined) return { rule: overFetch, input };
  const work = sendRequest(bench.subject, REQUEST);
  if (work === undefined || !(await settles(work))) return { rule: "every link gives a response", input };
  const seen = await work;
  const connections = bench.network.takeConnections();
  const downloads = bench.takeDownloads();
  const output = `${seen.body.toString()}${bench.subject.takeOutput()}`;
  const [record] = bench.subject.takeRecords();
  const rule =
    (connections.every(isPublic) ? undefined : "no connection goes to an address that is not public") ??
    (downloads.length === 0 || isOwnOrigin(link, bench.origin)
      ? undefined
      : "http only to the channel's own origin") ??
    (downloads.length <= 1 ? undefined : "a redirect is not followed") ??
    (input.isPublic && connections.length === 0 ? "a public link is downloaded" : undefined) ??
    (seen.status === 200 ? undefined : "an image that cannot be downloaded stays a link") ??
    (Number(record?.charge) === PRICE ? undefined : "an image that cannot be downloaded is charged") ??
    (findKeys(output).length === 0 ? undefined : "no key is in any output");
  const noted = `connections: ${connections.join(", ")}; downloads: ${downloads.join(", ")}`;
  return rule === undefined ? undefined : { rule, input, seen: `${noted}\n${describeSeen(seen)}` };
}

/** Over `fetch` only addresses in the link itself can be checked. The rule that is broken. */
async function tryOverFetch(bench: Bench, link: string): Promise<string | undefined> {
  const work = sendRequest(bench.fetchSubject, REQUEST);
  if (work === undefined || !(await settles(work))) return "every link gives a response";
  bench.fetchSubject.takeOutput();
  const isRefused = bench.takeFetched().every(({ url, redirect }) => {
    const { hostname, protocol } = new URL(url);
    const host = hostname.replaceAll(/[[\]]/g, "");
    const isAllowed =
      protocol === "https:" && (isIP(host) === 0 ? !/(?:^|\.)localhost\.?$/.test(host) : isPublic(host));
    return redirect === "manual" && (isAllowed || isOwnOrigin(link, bench.origin));
  });
  return isRefused ? undefined : "over fetch, no link with an address that is not public is downloaded";
}

function isOwnOrigin(link: string, origin: string): boolean {
  return URL.canParse(link) && new URL(link).origin === origin;
}

const REQUEST: RequestInput = {
  via: "handle",
  method: "POST",
  path: GENERATIONS,
  headers: [
    ["authorization", "Bearer $CALLER_KEY"],
    ["content-type", "application/json"],
  ],
  body: { text: JSON.stringify({ model: QWEN_IMAGE, prompt: "x", response_format: "b64_json" }) },
  cuts: [],
  ending: "whole",
  reader: "reads",
  isValid: true,
};
