// An Express app of CommonJS modules, with the gateway. Node 22.19 and newer load our packages, which are ES modules, with
// `require`.
const { createGateway } = require("@calotype/core");
const { toExpressHandler } = require("@calotype/express");
const { closeOnSignals } = require("@calotype/node");
const express = require("express");

const gateway = createGateway({
  models: { "seedream-4-5-251128": { family: "seedream" } },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: process.env.ARK_API_KEY,
      baseUrl: process.env.ARK_BASE_URL || undefined,
      modelMapping: { "seedream-4-5-251128": "doubao-seedream-4-5-251128" },
    },
  ],
  callers: [{ id: "default", key: process.env.CALOTYPE_API_KEY, client: "openai" }],
  billing: { model_details: { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" } } },
  // GET /healthz, for load balancers.
  healthz: true,
  onUsage: (record) => console.log(JSON.stringify(record)),
});

const app = express();
app.use(toExpressHandler(gateway));
const server = app.listen(Number(process.env.PORT || 8787), (error) => {
  if (error) throw error; // for example: the port is in use
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});
closeOnSignals(server, gateway);
