// The minimum with undici: forwards the stream of the request and the stream of the response.
import { pipeline } from "node:stream/promises";
import { Agent, request } from "undici";
import { serve } from "./serve.ts";
import { readTargetOptions } from "./target-options.ts";

const { upstream } = readTargetOptions();
const dispatcher = new Agent();

serve((req, res) => {
  const pipe = async (): Promise<void> => {
    const { statusCode, headers, body } = await request(upstream + (req.url ?? "/"), {
      method: "POST",
      dispatcher,
      headers: {
        "content-type": req.headers["content-type"] ?? "",
        "content-length": req.headers["content-length"] ?? "",
      },
      body: req,
    });
    const { connection: _connection, "transfer-encoding": _encoding, ...kept } = headers;
    res.writeHead(statusCode, kept);
    await pipeline(body, res);
  };
  pipe().catch(() => res.destroy());
});
