import { once } from "node:events";
import { createServer } from "node:http";
import { createGateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";

/*
 * A gateway in a separate process, so that its memory can be measured. Arguments: the address of the provider, and
 * the bytes of uploads that it may keep in memory. Prints its port. `/memory` returns the peak of its memory.
 */
const [baseUrl = "", uploadMemoryBytes] = process.argv.slice(2);

const gateway = createGateway({
  models: { "seedream-4-5-251128": { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "channel-key", baseUrl }],
  callers: [{ id: "tester", key: "caller-key" }],
  uploadMemoryBytes: Number(uploadMemoryBytes),
});
const respond = toNodeHandler(gateway);
const server = createServer((req, res) => {
  if (req.url === "/memory") res.end(String(process.resourceUsage().maxRSS * 1024));
  else respond(req, res);
});
await once(server.listen(0, "127.0.0.1"), "listening");
const address = server.address();
process.stdout.write(`${typeof address === "object" && address !== null ? address.port : 0}\n`);
