import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify, stripVTControlCharacters } from "node:util";
import { createFileStore, toNodeHandler } from "@calotype/node";
import { expect, it, onTestFinished } from "vitest";
import { CALLER_HEADERS, GENERATIONS, SEEDREAM_BODY } from "../../support/image-calls.js";
import { listen } from "../../support/listen.js";
import { describeWithService } from "../../support/needs-service.js";
import { programOf } from "../../support/proxies.js";
import { CALLER_KEY, CHANNEL_KEY, SEEDREAM, startGateway } from "../../support/test-gateway.js";
import { useProviders } from "../../support/use-providers.js";
import { expectCounts } from "../results.js";

const CONNECTIONS = 200;
const SLOWHTTPTEST = programOf("slowhttptest", "SLOWHTTPTEST", "-h");
const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(20_000_000)]);

interface Attack {
  readonly name: string;
  readonly options: readonly string[];
  /** Whether the target is the link of a stored image. Default: the path at which images are made. */
  readonly readsImage?: true;
  /** Whether the server closes all connections before the attack ends. A client that reads slowly may go on. */
  readonly ends: boolean;
}

// The program has no option for a header, but it copies the value of the cookie as it is.
const WITH_KEY = `a=b\r\nauthorization: Bearer ${CALLER_KEY}`;

const ATTACKS: readonly Attack[] = [
  { name: "slow headers", options: ["-H", "-i", "2", "-x", "10", "-l", "30"], ends: true },
  {
    name: "slow bodies with a valid key",
    options: [
      "-B",
      "-i",
      "2",
      "-s",
      "4096",
      "-x",
      "10",
      "-l",
      "60",
      "-f",
      "application/json",
      "-j",
      WITH_KEY,
    ],
    ends: true,
  },
  {
    name: "slow readers of an image of 20 MB",
    options: ["-X", "-n", "1", "-w", "10", "-y", "20", "-z", "5", "-l", "20"],
    readsImage: true,
    ends: false,
  },
];

const providers = useProviders();

/** A gateway with a stored image of 20 MB. The host waits for headers for 5 s, where Node's default is 60 s. */
async function serve(): Promise<{ server: Server; origin: string; image: string }> {
  const provider = await listen((incoming, response) => {
    incoming.resume();
    if (incoming.method === "GET") return void response.setHeader("content-type", "image/png").end(PNG);
    const data = [{ url: `http://${incoming.headers.host}/image.png`, size: "1024x1024" }];
    const usage = { generated_images: 1, output_tokens: 1, total_tokens: 1 };
    return void response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ model: SEEDREAM, created: 1, data, usage }));
  });
  onTestFinished(provider.close);
  const directory = mkdtempSync(join(tmpdir(), "calotype-slow-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const { gateway } = startGateway(providers(), {
    models: { [SEEDREAM]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl: `${provider.url}/api/v3` }],
    billing: undefined,
    results: { store: createFileStore({ directory }) },
  });
  const options = { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const server = createServer(options, toNodeHandler(gateway)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const response = await fetch(`${origin}${GENERATIONS}`, {
    method: "POST",
    headers: CALLER_HEADERS,
    body: JSON.stringify(SEEDREAM_BODY),
  });
  const { data } = (await response.json()) as { data: [{ url: string }] };
  return { server, origin, image: data[0].url };
}

await describeWithService(SLOWHTTPTEST, (program) => {
  it.each(ATTACKS)("other clients are served during $name", async ({ options, readsImage, ends }) => {
    const { origin, image } = await serve();
    const target = readsImage ? image : `${origin}${GENERATIONS}`;
    const general = ["-c", String(CONNECTIONS), "-r", String(CONNECTIONS), "-p", "10", "-u", target];
    const over = new AbortController();
    const attack = promisify(execFile)(program, [...options, ...general], { maxBuffer: 2 ** 26 }).finally(
      () => {
        over.abort();
      },
    );

    const statuses: number[] = [];
    while (!over.signal.aborted) {
      const response = await fetch(`${origin}/v1/models`, { headers: CALLER_HEADERS });
      await response.arrayBuffer();
      statuses.push(response.status);
      await pause(200);
    }
    const report = stripVTControlCharacters((await attack).stdout);

    expect(statuses.length).toBeGreaterThan(10);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const connected = [...report.matchAll(/connected: +(\d+)/g)].map(([, count]) => Number(count));
    expect(Math.max(...connected)).toBe(CONNECTIONS);
    const available = [...report.matchAll(/service available: +(\w+)/g)].map(([, answer]) => answer);
    expect(new Set(available)).toEqual(new Set(["YES"]));
    expect(report.includes("No open connections left")).toBe(ends);
  });

  it("are as many attacks as docs/suites.md says", async () => {
    expect(ATTACKS.length).toBeGreaterThan(0);
    await expectCounts("slowhttptest", { attacks: ATTACKS.length, "connections in each": CONNECTIONS });
  });
});
