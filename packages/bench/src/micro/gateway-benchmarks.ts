import { createGateway, type Fetch, type Gateway } from "@calotype/core";
import { createClientRequest } from "../client-request.ts";
import { createResponse, SERVICE_PREFIX } from "../payloads.ts";
import { createCalotype } from "../targets/create-calotype.ts";
import type { MicroBenchmark } from "./time-function.ts";

const ORIGIN = "http://127.0.0.1:1";
const CHUNK_BYTES = 64 * 1024;

/** A complete request without sockets: the provider is a function. */
export function createGatewayBenchmarks(): MicroBenchmark[] {
  const upstreamResponse = createResponse("small").pieces[0]?.toString() ?? "";
  const stub: Fetch = () =>
    Promise.resolve(new Response(upstreamResponse, { headers: { "content-type": "application/json" } }));
  const gateway = createCalotype({ upstream: ORIGIN, callers: 1, channels: 1 }, { fetch: stub });
  const plain = createGateway({
    models: { [`${SERVICE_PREFIX}*`]: { family: "seedream" } },
    channels: [{ id: "one", family: "seedream", apiKey: "upstream-key", baseUrl: ORIGIN }],
    callers: [{ id: "caller", key: "sk-bench-0" }],
    fetch: stub,
  });
  const { body } = createClientRequest("small");
  const fields: object = JSON.parse(body.toString());
  const wrong = JSON.stringify({ ...fields, size: "7x7" });
  return [
    request("gateway.fetch, small JSON, everything on", 200, () => send(gateway, body.toString())),
    request("gateway.fetch, small JSON, nothing on", 200, () => send(plain, body.toString())),
    request("gateway.fetch, refused for its size", 400, () => send(gateway, wrong)),
  ];
}

/** A large response through the whole gateway: the scanner, the relay and the Web response. */
export function createLargeResponseBenchmark(id: "b64-4mb" | "b64-32mb"): MicroBenchmark {
  const upstreamResponse = createResponse(id).pieces[0] ?? Buffer.alloc(0);
  const stub: Fetch = () =>
    Promise.resolve(
      new Response(toStream(upstreamResponse), { headers: { "content-type": "application/json" } }),
    );
  const gateway = createCalotype({ upstream: ORIGIN, callers: 1, channels: 1 }, { fetch: stub });
  const body = createClientRequest(id).body.toString();
  return {
    title: `gateway.fetch, ${upstreamResponse.length >> 20} MB b64_json`,
    bytes: upstreamResponse.length,
    async run() {
      const response = await send(gateway, body);
      let read = 0;
      for await (const chunk of response.body ?? []) read += chunk.length;
      if (response.status !== 200 || read < upstreamResponse.length - 200)
        throw new Error("The response lost bytes.");
    },
  };
}

/** The chunk size of sockets. */
function toStream(bytes: Buffer): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at + CHUNK_BYTES));
      at += CHUNK_BYTES;
      if (at >= bytes.length) controller.close();
    },
  });
}

type Run = () => Promise<Response>;

function request(title: string, status: number, run: Run): MicroBenchmark {
  return {
    title,
    async run() {
      const response = await run();
      const text = await response.text();
      if (response.status !== status) throw new Error(`Status ${response.status}: ${text}`);
    },
  };
}

const HEADERS = { "content-type": "application/json", authorization: "Bearer sk-bench-0" };

function send(gateway: Gateway, body: string): Promise<Response> {
  return gateway.fetch(
    new Request(`${ORIGIN}/v1/images/generations`, { method: "POST", headers: HEADERS, body }),
  );
}
