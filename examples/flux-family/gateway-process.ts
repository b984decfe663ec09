// A process with a gateway, for the test that kills it: it submits one task, and works on it until it is killed.
import { createGateway } from "@calotype/core";
import { createSqliteLedger } from "@calotype/sqlite";
import { toOptions } from "./gateway-options.ts";

const [, , baseUrl = "", path = ""] = process.argv;
const gateway = createGateway({
  ...toOptions(baseUrl),
  ledger: createSqliteLedger({ path, leaseSeconds: 1 }),
});
const response = await gateway.fetch(
  new Request("http://gateway.test/v1/images/generations", {
    method: "POST",
    headers: {
      authorization: "Bearer caller-canary-30c55b02",
      "content-type": "application/json",
      prefer: "respond-async",
    },
    body: JSON.stringify({ model: "flux", prompt: "a red fox" }),
  }),
);
process.stdout.write(`${await response.text()}\n`);
setInterval(() => undefined, 60_000);
