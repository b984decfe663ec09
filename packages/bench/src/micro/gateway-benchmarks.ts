import { createGateway, type Fetch } from "@calotype/core";
import { createClientRequest } from "../client-request.ts";
import { createAnswer, SERVICE_PREFIX } from "../payloads.ts";
import { createCalotype } from "../targets/create-calotype.ts";
import type { MicroBenchmark } from "./time-function.ts";

const ORIGIN = "http://127.0.0.1:1";

/** A request from end to end without a socket: the provider is a function. */
export function createGatewayBenchmarks(): MicroBenchmark[] {
  const answer = createAnswer("small").pieces[0]?.toString() ?? "";
  const stub: Fetch = () =>
    Promise.resolve(new Response(answer, { headers: { "content-type": "application/json" } }));
  const gateway = createCalotype({ upstream: ORIGIN, callers: 1, channels: 1 }, { fetch: stub });
  const plain = createGateway({
    models: { [`${SERVICE_PREFIX}*`]: { family: "seedream" } },
    channels: [{ id: "one", family: "seedream", apiKey: "upstream-key", baseUrl: ORIGIN }],
    apiKeys: [{ id: "caller", key: "sk-bench-0" }],
    fetch: stub,
  });
  const { body } = createClientRequest("small");
  const fields: object = JSON.parse(body.toString());
  const wrong = JSON.stringify({ ...fields, size: "7x7" });
  return [
    request("gateway.fetch, small JSON, everything on", 200, (send) => send(gateway, body.toString())),
    request("gateway.fetch, small JSON, nothing on", 200, (send) => send(plain, body.toString())),
    request("gateway.fetch, refused for its size", 400, (send) => send(gateway, wrong)),
  ];
}

type Send = (gateway: ReturnType<typeof createGateway>, body: string) => Promise<Response>;

function request(title: string, status: number, run: (send: Send) => Promise<Response>): MicroBenchmark {
  const headers = { "content-type": "application/json", authorization: "Bearer sk-bench-0" };
  const send: Send = (gateway, body) =>
    gateway.fetch(new Request(`${ORIGIN}/v1/images/generations`, { method: "POST", headers, body }));
  return {
    title,
    async run() {
      const response = await run(send);
      if (response.status !== status) throw new Error(`Status ${response.status}: ${await response.text()}`);
      await response.text();
    },
  };
}
