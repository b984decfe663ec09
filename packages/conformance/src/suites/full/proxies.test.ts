import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request, type ServerResponse } from "node:http";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { toNodeHandler } from "@calotype/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CALLER_HEADERS, GENERATIONS, SEEDREAM_BODY } from "../../support/image-calls.js";
import { listen } from "../../support/listen.js";
import {
  HAPROXY,
  NGINX,
  type Proxy,
  programOf,
  startHaproxy,
  startNginx,
  startVarnish,
  VARNISH,
} from "../../support/proxies.js";
import { canUse, type Service, urlOf } from "../../support/service.js";
import { CHANNEL_KEY, SEEDREAM, startGateway } from "../../support/test-gateway.js";
import { useProviders } from "../../support/use-providers.js";
import { expectCounts } from "../results.js";

/** A way to a gateway. */
interface Way {
  readonly name: string;
  readonly service: Service;
  readonly isHttp2: boolean;
  readonly start: (program: string, app: string) => Promise<Proxy>;
}

const WAYS: readonly Way[] = [
  {
    name: "nginx with HTTP/2",
    service: NGINX,
    isHttp2: true,
    start: (program, app) =>
      startNginx(program, app, { listen: "http2", directives: "proxy_http_version 1.1;" }),
  },
  { name: "HAProxy", service: HAPROXY, isHttp2: false, start: startHaproxy },
  { name: "Varnish", service: VARNISH, isHttp2: false, start: startVarnish },
];

const H2LOAD = programOf("h2load", "H2LOAD", "--version");
const STREAMS = 200;
const BODY = JSON.stringify({ ...SEEDREAM_BODY, prompt: "two paper kites", n: 2, stream: true });
const IMAGE = {
  type: "image_generation.partial_succeeded",
  model: SEEDREAM,
  created: 1,
  image_index: 0,
  url: "https://example.com/fox.png",
  size: "1024x1024",
};
const COMPLETED = {
  type: "image_generation.completed",
  model: SEEDREAM,
  created: 1,
  usage: { generated_images: 1, output_tokens: 4096, total_tokens: 4096 },
};

const providers = useProviders();

const usable = new Map<Way, string>();
for (const way of WAYS) {
  const program = urlOf(way.service);
  if (await canUse(way.service, program)) usable.set(way, program);
}
const hasH2load = await canUse(H2LOAD, urlOf(H2LOAD));

/** A proxy before a gateway whose provider sends an image, and the rest only when the test says so. */
async function openWay(way: Way, program: string) {
  const waiting = new Set<ServerResponse>();
  const provider = await listen((incoming, response) => {
    incoming.resume();
    response.setHeader("content-type", "text/event-stream");
    response.write(`event: ${IMAGE.type}\ndata: ${JSON.stringify(IMAGE)}\n\n`);
    waiting.add(response);
  });
  onTestFinished(provider.close);
  const { gateway, records } = startGateway(providers(), {
    heartbeatSeconds: 0.2,
    models: { [SEEDREAM]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl: `${provider.url}/api/v3` }],
    billing: { model_details: { [SEEDREAM]: { pricing_mode: "per-request", model_price: "0.03" } } },
  });
  let left = 0;
  const serve = toNodeHandler(gateway);
  const app = await listen((incoming, response) => {
    response.once("close", () => {
      if (!response.writableFinished) left += 1;
    });
    serve(incoming, response);
  });
  onTestFinished(app.close);
  const proxy = await way.start(program, app.url);
  onTestFinished(proxy.close);
  return {
    url: proxy.url,
    records,
    countLeft: () => left,
    finish: (): void => {
      const rest = `event: ${COMPLETED.type}\ndata: ${JSON.stringify(COMPLETED)}\n\ndata: [DONE]\n\n`;
      for (const response of waiting) response.end(rest);
    },
  };
}

/** A stream as a client reads it. */
interface OpenStream {
  /** What has arrived so far. */
  readonly text: () => string;
  readonly ended: Promise<unknown>;
  /** Closes it, as a client does that does not want the rest. */
  readonly leave: () => void;
}

async function openStream(url: string, isHttp2: boolean): Promise<OpenStream> {
  return isHttp2 ? openOnHttp2(url) : openOnHttp1(url);
}

async function openOnHttp1(url: string): Promise<OpenStream> {
  const outgoing = request(`${url}${GENERATIONS}`, { method: "POST", headers: CALLER_HEADERS, agent: false });
  outgoing.on("error", () => undefined); // that of leaving
  outgoing.end(BODY);
  const [incoming] = (await once(outgoing, "response")) as [Readable];
  return { ...collect(incoming), leave: () => void outgoing.destroy() };
}

async function openOnHttp2(url: string): Promise<OpenStream> {
  const session = connect(url);
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "POST", ":path": GENERATIONS, ...CALLER_HEADERS });
  stream.on("error", () => undefined); // that of leaving
  stream.end(BODY);
  return { ...collect(stream), leave: () => stream.close(8) };
}

function collect(stream: Readable): Pick<OpenStream, "text" | "ended"> {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const ended = new Promise((resolve) => stream.once("close", resolve));
  return { text: () => text, ended };
}

const WAIT = { timeout: 30_000, interval: 20 };

describe.each([...usable])("streams through $name", (way, program) => {
  it("arrive at once, with their comments, while the provider is silent", async () => {
    const { url, records, finish } = await openWay(way, program);
    const stream = await openStream(url, way.isHttp2);

    await vi.waitUntil(() => stream.text().includes(IMAGE.url), WAIT);
    await vi.waitUntil(() => stream.text().split(": keep-alive\n\n").length > 3, WAIT);
    expect(stream.text()).not.toContain(COMPLETED.type);
    finish();
    await stream.ended;

    expect(stream.text()).toContain(COMPLETED.type);
    expect(stream.text().endsWith("data: [DONE]\n\n")).toBe(true);
    await vi.waitUntil(() => records.length === 1, WAIT);
    expect(records).toMatchObject([{ status: 200, charge: "0.03" }]);
  });

  it("end at the gateway when their client leaves, and are charged", async () => {
    const { url, records, countLeft, finish } = await openWay(way, program);
    const stream = await openStream(url, way.isHttp2);
    await vi.waitUntil(() => stream.text().includes(IMAGE.url), WAIT);
    expect(countLeft()).toBe(0);

    stream.leave();

    await vi.waitUntil(() => countLeft() === 1, WAIT);
    finish();
    await vi.waitUntil(() => records.length === 1, WAIT);
    expect(records).toMatchObject([{ images: 1, charge: "0.03" }]);
  });

  it.runIf(hasH2load)("are complete under the load of h2load, each charged once", async () => {
    const { gateway, records } = startGateway(providers());
    const app = await listen(toNodeHandler(gateway));
    onTestFinished(app.close);
    const proxy = await way.start(program, app.url);
    onTestFinished(proxy.close);
    const folder = mkdtempSync(join(tmpdir(), "calotype-h2load-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "body.json");
    writeFileSync(file, BODY);
    const headers = Object.entries(CALLER_HEADERS).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    const protocol = way.isHttp2 ? ["-m", "10"] : ["--h1"];
    const counts = ["-n", String(STREAMS), "-c", "10", ...protocol];

    const target = `${proxy.url}${GENERATIONS}`;
    const { stdout: output } = await promisify(execFile)(urlOf(H2LOAD), [
      ...counts,
      ...headers,
      "-d",
      file,
      target,
    ]);

    expect(output).toContain(
      `requests: ${STREAMS} total, ${STREAMS} started, ${STREAMS} done, ${STREAMS} succeeded, 0 failed, 0 errored, 0 timeout`,
    );
    expect(output).toContain(`status codes: ${STREAMS} 2xx`);
    await vi.waitUntil(() => records.length === STREAMS, WAIT);
    expect(new Set(records.map(({ charge, images }) => `${charge} ${images}`))).toEqual(new Set(["0.06 2"]));
  });
});

it.runIf(usable.size === WAYS.length && hasH2load)("are as many as docs/suites.md says", async () => {
  expect(usable.size).toBeGreaterThan(0);
  await expectCounts("proxies", { proxies: usable.size, "streams under load": usable.size * STREAMS });
});
