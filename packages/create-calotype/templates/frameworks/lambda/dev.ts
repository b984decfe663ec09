// `npm run dev`: serves the function over HTTP as a function URL does, with an emulator for the providers that have no key.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { emulateProviders } from "./emulate-providers.ts";

Object.assign(process.env, await emulateProviders());
// What Lambda's runtime defines.
Object.assign(globalThis, {
  awslambda: {
    streamifyResponse: (handle: unknown) => handle,
    HttpResponseStream: {
      from: (res: ServerResponse, head: { statusCode: number; headers: Record<string, string> }) =>
        res.writeHead(head.statusCode, head.headers),
    },
  },
});
const { handler } = await import("./server.ts");
const handle = handler as unknown as (event: unknown, output: ServerResponse) => Promise<void>;

const port = Number(process.env.PORT || 8787);
const server = createServer(async (req, res) => {
  try {
    await handle(await toEvent(req), res);
  } catch (error) {
    console.error(error);
    res.destroy();
  }
}).listen(port, () => console.log(`Listening on http://localhost:${port}/v1`));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => server.close());

async function toEvent(req: IncomingMessage) {
  const { pathname, searchParams } = new URL(req.url ?? "/", "http://localhost");
  const isText = /json|text/.test(req.headers["content-type"] ?? "");
  return {
    version: "2.0",
    rawPath: pathname,
    rawQueryString: String(searchParams),
    headers: req.headers,
    requestContext: { domainName: "localhost", http: { method: req.method, path: pathname } },
    body: (await buffer(req)).toString(isText ? "utf8" : "base64") || undefined,
    isBase64Encoded: !isText,
  };
}
