import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SimpleSpanProcessor } from "@opentelemetry/sdk-trace";
import { expect, it, onTestFinished, vi } from "vitest";
import { CANARIES, createObservedGateway, RESPONSE, registerSdk } from "./testing/setup.js";

/** Receives what an exporter sends. */
async function startReceiver(): Promise<{ readonly url: string; readonly bodies: readonly string[] }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, bodies };
}

it("no prompt, key, image or message of a provider is in what is exported", async () => {
  const receiver = await startReceiver();
  const exporter = new OTLPTraceExporter({ url: receiver.url });
  const sdk = registerSdk([new SimpleSpanProcessor({ exporter })]);
  const { post, logs } = createObservedGateway(
    ({ url, text }) =>
      url.includes("first")
        ? Response.json(
            { error: { code: "InternalServiceError", message: `failed: ${text}` } },
            { status: 500 },
          )
        : Response.json({ ...RESPONSE, data: [{ b64_json: CANARIES.image, size: "2048x2048" }] }),
    {
      logCalls: true,
      channels: ["first", "second"].map((id, index) => ({
        id,
        family: "seedream",
        apiKey: CANARIES.arkKey,
        baseUrl: `https://${id}.test/api/v3`,
        priority: 1 - index,
        retryUnsafe: true,
      })),
    },
  );
  const image = `data:image/png;base64,${CANARIES.image}`;
  const bodies = [{}, { response_format: "b64_json", image }, { model: CANARIES.prompt }, { n: "many" }];
  for (const body of bodies) await (await post(body)).text();
  await vi.waitFor(() =>
    expect(receiver.bodies.join("").match(/"generate_content/g)?.length).toBeGreaterThan(3),
  );

  const exported = [...receiver.bodies, await sdk.prometheus()].join("\n");
  expect(exported).toContain("attempt second");
  for (const canary of Object.values(CANARIES)) expect(exported).not.toContain(canary);
  const history = logs.filter(({ level }) => level === "info");
  expect(history.length).toBeGreaterThan(8);
  for (const canary of Object.values(CANARIES)) expect(JSON.stringify(history)).not.toContain(canary);
});
