import assert from "node:assert/strict";
import { connect } from "node:net";
import { CALLER_KEY, GENERATIONS, SEEDREAM, type ServedGateway, toInit, toScript } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, waitFor } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "a kite", response_format: "b64_json" };

/** Clients that do not send their body, or do not read their response. */
export const slowClients: readonly Check[] = [
  {
    name: "refuses a body that stops with 408",
    async run({ serve, asked }) {
      const served = serve({ bodyLimits: { slowAfterSeconds: 1 } });
      const text = await sendHalf(served);
      expectMatch(text, /^HTTP\/1\.1 408 /, "response");
      expectMatch(text, /"code":"request_timeout"/, "response");
      assert.deepEqual([served.records, await asked()], [[], []]);
    },
  },
  ...[false, true].map(
    (isSecond): Check => ({
      name: `ends and settles a response that is never read, and frees its slot${isSecond ? ", also after another one" : ""}`,
      async run({ serve, addresses }) {
        const options = { responseIdleSeconds: 0.5, limits: { concurrent: 1 } };
        const { gateway, url, records, send } = serve({ ...toScript(addresses, "large"), ...options });
        const init = { method: "POST", ...toInit(BODY) };
        if (isSecond) await (await send(GENERATIONS, init)).text();
        const count = records.length;

        const unread = await gateway.fetch(new Request(url + GENERATIONS, init));
        expectMatch(unread.status, 200, "status");
        const refused = await send(GENERATIONS, init);
        await refused.text();
        expectMatch(refused.status, 429, "status of a second request");

        const record = await waitFor("The record", () => records[count]);
        expectMatch(record, { status: 200, images: 1, charge: "0.03" }, "record");
        await assert.rejects(unread.text(), /read nothing of the response for 0\.5 s/);
        const next = await send(GENERATIONS, init);
        expectMatch(next.status, 200, "status of the next request");
        await next.body?.cancel();
      },
    }),
  ),
];

/** Sends the head of a request and the beginning of its body. Returns the response with its head. */
function sendHalf({ url }: ServedGateway): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const head = [
    `POST ${pathname}${GENERATIONS} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${CALLER_KEY}`,
    "content-type: application/json",
    "content-length: 900000",
    "",
    '{"model":',
  ].join("\r\n");
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received = "";
    socket.setEncoding("utf8").on("error", reject);
    socket.on("close", () => resolve(received));
    socket.on("data", (text) => {
      received += String(text);
      if (received.includes("request_timeout")) socket.destroy();
    });
    socket.write(head);
  });
}
