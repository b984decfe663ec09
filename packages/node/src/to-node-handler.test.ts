import { once } from "node:events";
import {
  Agent,
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  request,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Gateway, GatewayResponse } from "@calotype/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { toNodeHandler } from "./to-node-handler.js";

const NOT_FOUND: GatewayResponse = { status: 404, headers: { "x-from": "gateway" }, body: "no such path" };
const UNWRITABLE: GatewayResponse = { status: 200, headers: { "x-broken": "line\nbreak" }, body: "" };

describe("a path that is not the gateway's", () => {
  it("is answered with the gateway's 404 where there is no next handler", async () => {
    const url = await serve(toNodeHandler(createGateway(() => null)));

    const response = await fetch(url);

    expect(response.status).toBe(404);
    expect(response.headers.get("x-from")).toBe("gateway");
    expect(await response.text()).toBe("no such path");
  });

  it("goes to the next handler where there is one", async () => {
    const handler = toNodeHandler(createGateway(() => null));
    const url = await serve((req, res) => handler(req, res, (error) => res.end(`next: ${String(error)}`)));

    expect(await (await fetch(url)).text()).toBe("next: undefined");
  });
});

describe("the connection after a 404 that is given at once", () => {
  it.each([
    { method: "GET", headers: {} },
    { method: "POST", headers: { "content-length": "0" } },
  ])("serves the next request: $method without a body", async ({ method, headers }) => {
    const url = await serve(toNodeHandler(createGateway(() => null)));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const exchange = async () => {
      const client = request(url, { agent, method, headers }).end();
      const [answer] = (await once(client, "response")) as [IncomingMessage];
      return { text: await text(answer), reused: client.reusedSocket };
    };

    expect(await exchange()).toEqual({ text: "no such path", reused: false });
    expect(await exchange()).toEqual({ text: "no such path", reused: true });
  });

  it.each(["", "x".repeat(10_000)])(
    "serves the next request: POST with a body that came with the head: %s",
    async (body) => {
      const url = await serve(toNodeHandler(createGateway(() => null)));
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      onTestFinished(() => agent.destroy());
      const exchange = async () => {
        const client = request(url, { agent, method: "POST" }).end(body);
        const [answer] = (await once(client, "response")) as [IncomingMessage];
        return { text: await text(answer), reused: client.reusedSocket };
      };

      expect(await exchange()).toEqual({ text: "no such path", reused: false });
      expect(await exchange()).toEqual({ text: "no such path", reused: true });
    },
  );

  it.each<OutgoingHttpHeaders>([{ "content-length": "3" }, { "transfer-encoding": "chunked" }])(
    "is closed while an upload is under way: %o",
    async (headers) => {
      const url = await serve(toNodeHandler(createGateway(() => null)));
      const client = request(url, { agent: false, method: "POST", headers });
      client.flushHeaders();

      const [answer] = (await once(client, "response")) as [IncomingMessage];
      expect(answer.headers).toMatchObject({ connection: "close" });
      client.end("abc");
      expect(await text(answer)).toBe("no such path");
    },
  );
});

describe("an answer that cannot be written", () => {
  it("goes to the next handler as an error", async () => {
    const handler = toNodeHandler(createGateway(async () => UNWRITABLE));
    const url = await serve((req, res) => handler(req, res, (error) => res.end(`next: ${String(error)}`)));

    expect(await (await fetch(url)).text()).toMatch(/^next: TypeError.*x-broken/);
  });

  it("ends the connection where there is no next handler", async () => {
    const url = await serve(toNodeHandler(createGateway(async () => UNWRITABLE)));

    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});

/** What a handler asks of a gateway. */
function createGateway(handle: Gateway["handle"]): Parameters<typeof toNodeHandler>[0] {
  return { handle, notFound: () => NOT_FOUND };
}

/** Serves on a free port until the test ends. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}
