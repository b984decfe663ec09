import type { IncomingMessage, ServerResponse } from "node:http";
import { createResponse } from "../payloads.ts";

const [body] = createResponse("small").pieces;

/**
 * As many headers as the gateway's responses have. If a header was set before, as Express does, Node sets each of
 * them one by one, and that is the server's cost.
 */
const HEADERS = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-request-id": "req_9b5c210d71fc695c799a397c43c3a353",
  "ratelimit-policy":
    '"requests";q=1000000000;w=60, "images";q=1000000000;qu="images";w=60, "concurrent";q=100000;qu="concurrent-requests"',
  ratelimit: '"requests";r=999999999;t=60, "images";r=999999999;t=60',
  "x-ratelimit-limit-requests": "1000000000",
  "x-ratelimit-remaining-requests": "999999999",
  "x-ratelimit-reset-requests": "1m0s",
  "x-ratelimit-limit-images": "1000000000",
  "x-ratelimit-remaining-images": "999999999",
  "x-ratelimit-reset-images": "1m0s",
  "content-length": String(body?.length ?? 0),
};

/** Reads a request and responds at once, to measure the cost of the server alone. */
export function respondBare(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  req.on("end", () => {
    res.writeHead(200, HEADERS).end(body);
  });
}
