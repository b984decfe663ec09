import type { ServerResponse } from "node:http";
import type { Dispatcher } from "undici";

/** Relays a response of undici while it arrives, with backpressure. `onChunk` gets each piece. */
export function relay(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  res: ServerResponse,
  onChunk: (chunk: Buffer) => void = () => undefined,
): Promise<void> {
  const { "content-type": contentType, "content-length": length } = headers;
  res.writeHead(statusCode, {
    "content-type": String(contentType),
    ...(length !== undefined && { "content-length": String(length) }),
  });
  return new Promise((resolve, reject) => {
    body.on("data", (chunk: Buffer) => {
      onChunk(chunk);
      if (res.write(chunk)) return;
      body.pause();
      res.once("drain", () => body.resume());
    });
    body.on("end", () => {
      res.end();
      resolve();
    });
    body.on("error", reject);
    res.once("close", () => body.destroy());
  });
}
