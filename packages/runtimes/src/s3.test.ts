import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { labelOf } from "./describe-runtime.ts";
import { PACKAGE } from "./folders.ts";
import { findInstalled } from "./installed-runtimes.ts";
import { runProgram } from "./run-program.ts";

describe.each([findInstalled("Node 22"), findInstalled("Bun")])("@calotype/s3 on $name", (runtime) => {
  it.skipIf(runtime.leftOut)(
    `sends every body with its length and its hash on ${labelOf(runtime)}`,
    async () => {
      const { endpoint, problems } = await startServer();
      const { output, errors } = await runProgram(runtime.program, ["src/put-images-on-s3.mjs", endpoint], {
        cwd: PACKAGE,
        timeoutMs: 45_000,
      });

      expect({ output, errors, problems }).toEqual({
        output: "[1000,300000,8388608,20000000]",
        errors: "",
        problems: [],
      });
    },
  );
});

/** A server that keeps objects, and notes bodies whose length or hash is not as announced. */
async function startServer(): Promise<{ endpoint: string; problems: string[] }> {
  const problems: string[] = [];
  const objects = new Map<string, Buffer>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url = "", headers } = request;
    const bytes = await buffer(request);
    const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
    const hash = createHash("sha256").update(bytes).digest("hex");
    if (headers["x-amz-content-sha256"] !== hash) problems.push(`${method} ${url}: wrong hash`);
    if (method === "PUT" && headers["content-length"] !== String(bytes.length)) {
      problems.push(
        `${method} ${url}: content-length ${headers["content-length"]} for ${bytes.length} bytes`,
      );
    }
    if (method === "PUT") {
      const before = searchParams.has("partNumber") ? objects.get(pathname) : undefined;
      objects.set(pathname, Buffer.concat([before ?? Buffer.of(), bytes]));
      response.writeHead(200, { etag: '"a"' }).end();
    } else if (method === "POST") {
      const name = searchParams.has("uploads")
        ? "InitiateMultipartUploadResult"
        : "CompleteMultipartUploadResult";
      response.end(`<${name}><UploadId>1</UploadId></${name}>`);
    } else {
      response.end(objects.get(pathname));
    }
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => problems.push(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return { endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, problems };
}
