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
import type { Gateway } from "@calotype/core";
import type { GatewayResponse } from "@calotype/core/adapter";
import { describe, expect, it, onTestFinished } from "vitest";
import { toNodeHandler } from "./to-node-handler.js";

const NOT_FOUND: GatewayResponse = { status: 404, headers: { "x-from": "gateway" }, body: "no such path" };
const UNWRITABLE: GatewayResponse = { status: 200, headers: { "x-broken": "line\nbreak" }, body: "" };

describe("a path that is not the gateway's", () => {
  it("gets the gateway's 404 if there is no next handler", async () => {
    const url = await serve(toNodeHandler(createGateway(() => null)));

    const response = await fetch(url);

    expect(response.status).toBe(404);
    expect(response.headers.get("x-from")).toBe("gateway");
    expect(await response.text()).toBe("no such path");
  });

  it("goes to the next handler if there is one", async () => {
    const handler = toNodeHandler(createGateway(() => null));
    const url = await serve((req, res) => handler(req, res, (error) => res.end(`next: ${String(error)}`)));

    expect(await (await fetch(url)).text()).toBe("next: undefined");
  });
});

describe("the connection after an immediate 404", () => {
  it.each([
    { method: "GET", headers: {} },
    { method: "POST", headers: { "content-length": "0" } },
  ])("serves the next request: $method without a body", async ({ method, headers }) => {
    const url = await serve(toNodeHandler(createGateway(() => null)));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const exchange = async () => {
      const client = request(url, { agent, method, headers }).end();
      const [response] = (await once(client, "response")) as [IncomingMessage];
      return { text: await text(response), reused: client.reusedSocket };
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
        const [response] = (await once(client, "response")) as [IncomingMessage];
        return { text: await text(response), reused: client.reusedSocket };
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

      const [response] = (await once(client, "response")) as [IncomingMessage];
      expect(response.headers).toMatchObject({ connection: "close" });
      client.end("abc");
      expect(await text(response)).toBe("no such path");
    },
  );
});

describe("a response that cannot be written", () => {
  it("goes to the next handler as an error", async () => {
    const handler = toNodeHandler(createGateway(async () => UNWRITABLE));
    const url = await serve((req, res) => handler(req, res, (error) => res.end(`next: ${String(error)}`)));

    expect(await (await fetch(url)).text()).toMatch(/^next: TypeError.*x-broken/);
  });

  it("ends the connection if there is no next handler", async () => {
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
