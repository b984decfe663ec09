import type { IncomingMessage, ServerResponse } from "node:http";
import { createAnswer } from "../payloads.ts";

const [body] = createAnswer("small").pieces;

/** Reads a request and answers at once: what the server alone costs. */
export function answerBare(req: IncomingMessage, res: ServerResponse): void {
  req.resume();
  req.on("end", () => {
    res.writeHead(200, { "content-type": "application/json", "content-length": body?.length ?? 0 }).end(body);
  });
}
