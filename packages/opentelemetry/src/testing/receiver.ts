import { createServer } from "node:http";
import { onTestFinished } from "vitest";

/** A collector's OTLP endpoint. */
export interface Receiver {
  readonly url: string;
  /** The bodies of the requests, in order. */
  readonly bodies: readonly string[];
}

/** Starts a server that receives what OTLP exporters send. */
export async function startReceiver(): Promise<Receiver> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return { url: `http://127.0.0.1:${address.port}`, bodies };
}
