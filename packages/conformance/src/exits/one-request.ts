import { createGateway } from "@calotype/core";

/* Sends one request and prints the result. Nothing here ends the process or closes the gateway. */
const [baseUrl = "", key = ""] = process.argv.slice(2);
const gateway = createGateway({
  models: { m: { family: "seedream" } },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: "k",
      baseUrl,
      modelMapping: { m: "doubao-seedream-4-0-250828" },
      timeouts: { connectSeconds: 5, firstByteSeconds: 0.3, idleSeconds: 0.3 },
    },
  ],
  callers: [{ id: "tester", key }],
  billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
  logger: { warn: () => undefined, error: () => undefined },
});
const response = await gateway.fetch(
  new Request("http://localhost/v1/images/generations", {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "m", prompt: "x" }),
  }),
);
await response.arrayBuffer();
process.stdout.write(String(response.status));
