import { once } from "node:events";
import { createServer, IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, Socket } from "node:net";
import { isFreeable } from "@calotype/core/adapter";
import { describe, expect, it, onTestFinished } from "vitest";
import { NodeRequest } from "./node-request.js";

const SENT = Buffer.from(Uint8Array.from({ length: 1_000_000 }, (_, at) => (at * 7 + (at >> 9)) & 255));

/** Sends a body to a server. @returns whether the large chunks of it may be freed */
async function post(tap: (req: IncomingMessage) => void = () => undefined): Promise<Set<boolean>> {
  const marks = Promise.withResolvers<Set<boolean>>();
  const server = createServer((req, res) => {
    tap(req);
    marks.resolve(readMarks(req, res));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await once(request({ port, host: "127.0.0.1", method: "POST", agent: false }).end(SENT), "response");
  return await marks.promise;
}

type Tap = (req: IncomingMessage, take: (chunk: unknown) => void) => void;

/** Reads a whole body. @returns whether its large chunks may be freed */
async function readMarks(req: IncomingMessage, res: ServerResponse): Promise<Set<boolean>> {
  const marks = new Set<boolean>();
  let length = 0;
  for await (const chunk of new NodeRequest(req, res, {}).body ?? []) {
    if (chunk.length >= 16_384) marks.add(isFreeable(chunk));
    length += chunk.length;
  }
  expect(length).toBe(SENT.length);
  res.end();
  return marks;
}

describe("the chunks of a request's body", () => {
  it("may be freed if only the gateway reads them", async () => {
    expect(await post()).toEqual(new Set([true]));
  });

  it.each<[string, Tap]>([
    ["other code listens", (req, take) => req.on("data", take).pause()],
    [
      "other code waits for chunks and reads them",
      (req, take) => {
        req.on("readable", () => {
          for (let chunk: unknown = req.read(); chunk !== null; chunk = req.read()) take(chunk);
        });
      },
    ],
    [
      "a recorder has replaced emit",
      (req, take) => {
        const emit = req.emit.bind(req);
        req.emit = (...values: Parameters<typeof emit>) => {
          take(values[1]);
          return emit(...values);
        };
      },
    ],
    [
      "a recorder has replaced on",
      (req, take) => {
        const on = req.on.bind(req);
        const listen = (event: string, listener: (...values: unknown[]) => void) =>
          on(event, (...values: unknown[]) => {
            take(values[0]);
            listener(...values);
          });
        Object.assign(req, { on: listen });
      },
    ],
  ])("stay as they are if %s", async (_what, tap) => {
    const seen: unknown[] = [];
    const marks = await post((req) => tap(req, (chunk) => seen.push(chunk)));
    expect(marks.has(true)).toBe(false);
    expect(Buffer.concat(seen.filter((chunk) => Buffer.isBuffer(chunk))).equals(SENT)).toBe(true);
  });

  it("stay as they are in requests that a framework makes itself", async () => {
    const req = new IncomingMessage(new Socket());
    const body = Buffer.alloc(100_000, 1);
    req.push(body);
    req.push(null);
    for await (const chunk of new NodeRequest(req, {} as never, {}).body ?? []) {
      expect(isFreeable(chunk)).toBe(false);
    }
    expect(body).toHaveLength(100_000);
  });

  it("stay as they are in HTTP/2, whose chunks may be all of what was read from the socket", async () => {
    const marks = Promise.withResolvers<Set<boolean>>();
    const server = createHttp2Server((req, res) => {
      marks.resolve(readMarks(req as unknown as IncomingMessage, res as never));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => {
      client.close();
      server.close();
    });
    client.request({ ":method": "POST", ":path": "/" }).end(SENT);
    expect((await marks.promise).has(true)).toBe(false);
  });
});
