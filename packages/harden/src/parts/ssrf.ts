import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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
    "Result links of a provider that are downloaded for `b64_json`: private, reserved and tunnel addresses of IPv4 and IPv6 in every " +
    "spelling, other schemes, ports, user names, names that resolve to such addresses (also beside public ones, or only the second time), and " +
    "redirects. No connection goes to an address that is not public, except to the channel's own loopback origin. The image stays a link, and is charged once.",
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
  readonly network: WatchedNetwork;
  /** What the provider's server says from now on. */
  setInput(input: LinkInput): void;
  /** Paths of the downloads that came to the provider's own server. */
  takeDownloads(): readonly string[];
  close(): Promise<void>;
}

async function openBench(): Promise<Bench> {
  let current: LinkInput | undefined;
  let downloads: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") {
      downloads.push(request.url ?? "");
      response.writeHead(302, { location: current?.redirect ?? "/" }).end();
      return;
    }
    const content = [{ image: current?.link }];
    const body = { output: { choices: [{ message: { content } }] }, usage: { image_count: 1 } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const port = await listen(server);
  const origin = `http://127.0.0.1:${port}`;
  const network = watchNetwork(port);
  const subject = openSubject(undefined, {
    channels: [{ id: "dashscope", family: "qwen-image", apiKey: CHANNEL_KEY, baseUrl: `${origin}/api/v1` }],
    models: { [QWEN_IMAGE]: { family: "qwen-image" } },
  });
  return {
    origin,
    subject,
    network,
    setInput(input) {
      current = input;
    },
    takeDownloads() {
      const taken = downloads;
      downloads = [];
      return taken;
    },
    async close() {
      await subject.close();
      network.restore();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
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
