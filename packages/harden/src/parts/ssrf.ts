import { once } from "node:events";
import { createServer } from "node:http";
import { isIP } from "node:net";
import type { GatewayOptions } from "@calotype/core";
import { type LinkInput, listLinks } from "../grammar/links.ts";
import { createJsonRequest, QWEN_IMAGE } from "../grammar/requests.ts";
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
import { isPublic, type WatchedNetwork, watchNetwork } from "../watched-network.ts";

/** Result links to addresses that are not public. */
export const ssrf: Part<LinkInput> = {
  name: "ssrf",
  guarantees:
    "A provider returns result links that are downloaded for `b64_json`: private, reserved and tunnel addresses " +
    "of IPv4 and IPv6 in every spelling, other schemes, ports, user names, redirects, and names that resolve to " +
    "such addresses, also beside public ones or only the second time. Both transports are used, that of Node " +
    "and `fetch`. No connection goes to an address that is not public, except to the channel's own loopback " +
    "origin. The image stays a link and is charged once.",
  async run(context) {
    const fixture = await openFixture();
    const links = listLinks(fixture.origin)
      .map((input) => ({ input, order: context.random() }))
      .toSorted((a, b) => a.order - b.order);
    for (const { input } of links) {
      if (context.isOver()) break;
      context.begin(input);
      context.count("links");
      const found = await tryLink(fixture, input);
      if (found !== undefined) await context.report(found);
    }
    await fixture.close();
  },
  async replay(input, context) {
    const fixture = await openFixture();
    const found = await tryLink(fixture, input);
    if (found !== undefined) await context.report(found);
    await fixture.close();
  },
};

interface Fixture {
  readonly origin: string;
  readonly watched: WatchedGateway;
  /** The same gateway over `fetch`, which does not show the addresses of names. */
  readonly watchedOverFetch: WatchedGateway;
  readonly network: WatchedNetwork;
  /** Sets the response of the provider's server. */
  setInput(input: LinkInput): void;
  /** Returns the paths of downloads from the provider's own server. */
  takeDownloads(): readonly string[];
  /** Returns the links that were downloaded over `fetch`. */
  takeFetched(): readonly Fetched[];
  close(): Promise<void>;
}

interface Fetched {
  readonly url: string;
  readonly redirect: string | undefined;
}

async function openFixture(): Promise<Fixture> {
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
  const watched = openWatchedGateway(undefined, options);
  const watchedOverFetch = openWatchedGateway(undefined, {
    ...options,
    async fetch(url, { method, redirect }) {
      if (method === "POST") return new Response(writeReply(current?.link));
      fetched.push({ url, redirect });
      throw new TypeError("fetch failed");
    },
  });
  return {
    origin,
    watched,
    watchedOverFetch,
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
      await Promise.all([watched.close(), watchedOverFetch.close()]);
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

async function tryLink(fixture: Fixture, input: LinkInput): Promise<Finding<LinkInput> | undefined> {
  // A recorded link may name the port of an earlier run.
  const link = input.link.replace(/^http:\/\/127\.0\.0\.1:\d+\/redirect$/, `${fixture.origin}/redirect`);
  fixture.setInput({ ...input, link });
  fixture.network.resolveTo(input.addresses);
  const ruleOverFetch = await tryOverFetch(fixture, link);
  if (ruleOverFetch !== undefined) return { rule: ruleOverFetch, input };
  const work = sendRequest(fixture.watched, REQUEST);
  if (work === undefined || !(await settles(work))) return { rule: "every link gives a response", input };
  const seen = await work;
  const connections = fixture.network.takeConnections();
  const downloads = fixture.takeDownloads();
  const output = `${seen.body.toString()}${fixture.watched.takeOutput()}`;
  const [record] = fixture.watched.takeRecords();
  const rule =
    (connections.every(isPublic) ? undefined : "no connection goes to an address that is not public") ??
    (downloads.length === 0 || isOwnOrigin(link, fixture.origin)
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
async function tryOverFetch(fixture: Fixture, link: string): Promise<string | undefined> {
  const work = sendRequest(fixture.watchedOverFetch, REQUEST);
  if (work === undefined || !(await settles(work))) return "every link gives a response";
  fixture.watchedOverFetch.takeOutput();
  const isRefused = fixture.takeFetched().every(({ url, redirect }) => {
    const { hostname, protocol } = new URL(url);
    const host = hostname.replaceAll(/[[\]]/g, "");
    const isAllowed =
      protocol === "https:" && (isIP(host) === 0 ? !/(?:^|\.)localhost\.?$/.test(host) : isPublic(host));
    return redirect === "manual" && (isAllowed || isOwnOrigin(link, fixture.origin));
  });
  return isRefused ? undefined : "over fetch, no link with an address that is not public is downloaded";
}

function isOwnOrigin(link: string, origin: string): boolean {
  return URL.canParse(link) && new URL(link).origin === origin;
}

const REQUEST = createJsonRequest({ model: QWEN_IMAGE, prompt: "x", response_format: "b64_json" });
