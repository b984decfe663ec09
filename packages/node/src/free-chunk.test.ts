import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import { connect, createServer as createHttp2Server, type Http2ServerRequest } from "node:http2";
import type { AddressInfo } from "node:net";
import { freeChunk } from "@calotype/core";
import { expect, it, onTestFinished } from "vitest";
import { toGatewayRequest } from "./node-request.js";

it("the chunks of a socket's request can be freed one by one, and the others stay as they are", async () => {
  const seen: { readonly freed: number; readonly kept: Buffer }[] = [];
  const server = createServer((req, res) => {
    const { body, freeChunk: free } = toGatewayRequest(req, res, {});
    const read = async (): Promise<void> => {
      const kept: Uint8Array[] = [];
      let freed = 0;
      for await (const chunk of body ?? []) {
        const copy = Buffer.from(chunk);
        if (kept.length % 2 === 0) free?.(chunk);
        freed += chunk.length === 0 ? 1 : 0;
        kept.push(chunk.length === 0 ? copy : chunk);
      }
      seen.push({ freed, kept: Buffer.concat(kept) });
      res.end();
    };
    void read();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const sent = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, at) => (at * 7 + (at >> 9)) & 255));
  const { port } = server.address() as AddressInfo;
  const client = request({ port, host: "127.0.0.1", method: "POST", agent: false }).end(sent);
  await once(client, "response");
  expect(seen[0]?.kept.equals(sent)).toBe(true);
  expect(seen[0]?.freed).toBeGreaterThan(10);
});

it("the chunks that somebody else gets, too, are not freed", async () => {
  const seen: Buffer[] = [];
  const server = createServer((req, res) => {
    req.on("data", (chunk: Buffer) => seen.push(chunk)).pause();
    const { body, freeChunk: free } = toGatewayRequest(req, res, {});
    const read = async (): Promise<void> => {
      for await (const chunk of body ?? []) free?.(chunk);
      res.end();
    };
    void read();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const sent = Buffer.alloc(300_000, 7);
  await once(request({ port, host: "127.0.0.1", method: "POST", agent: false }).end(sent), "response");
  expect(Buffer.concat(seen).equals(sent)).toBe(true);
});

it("the chunks of HTTP/2 are not freed: they may be all of what was read from the socket", async () => {
  const given = Promise.withResolvers<unknown>();
  const server = createHttp2Server((req: Http2ServerRequest, res) => {
    given.resolve(toGatewayRequest(req as unknown as IncomingMessage, res as never, {}).freeChunk);
    res.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  client.request({ ":method": "POST", ":path": "/" }).end("a");
  expect(await given.promise).toBeUndefined();
});

it("a chunk that is a part of other memory is not freed", () => {
  const memory = Buffer.alloc(100, 1);
  for (const part of [memory.subarray(0, 50), memory.subarray(50), Buffer.from("pooled")]) {
    const { length } = part;
    freeChunk(part);
    expect(part).toHaveLength(length);
  }
  expect(memory).toEqual(Buffer.alloc(100, 1));
});
