import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ComposedGateway,
  composeGateway,
  type Feature,
  limits,
  modelsList,
} from "@calotype/core/compose";
import { seedream } from "@calotype/core/families";
import { createFileStore } from "@calotype/node";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { mcp } from "./mcp.js";
import { connect, KEYS, MODEL, openMcpServer, sendMessage, sentBodies } from "./testing/open-server.js";

const FOX = { model: MODEL, prompt: "a fox" };

/** The text of a result, which is also its structured content. */
const textOf = ({ content }: CallToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

const readField = ({ structuredContent }: CallToolResult, name: string): unknown =>
  new Map(Object.entries(structuredContent ?? {})).get(name);

const errorOf = (result: CallToolResult): unknown => readField(result, "error");

const idOf = (result: CallToolResult): string => String(readField(result, "id"));

describe.each(["2025-11-25", "2026-07-28"])("a client of MCP %s", (version) => {
  it("makes an image, which is charged to the caller of its key", async () => {
    const server = await openMcpServer({ showCharge: true });
    const client = await connect(server, { version });

    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "generate_image",
      "edit_image",
      "get_task",
      "list_models",
    ]);

    const made = await client.callTool({ name: "generate_image", arguments: { ...FOX, n: 2 } });

    expect(made.isError).toBeUndefined();
    expect(made.content).toEqual([
      { type: "resource_link", uri: expect.stringContaining("/ark-results/"), name: "image 1" },
      { type: "resource_link", uri: expect.stringContaining("/ark-results/"), name: "image 2" },
      { type: "text", text: JSON.stringify(made.structuredContent) },
    ]);
    const [record] = server.records;
    expect(server.records).toHaveLength(1);
    expect(record).toMatchObject({ caller: "agent", charge: "0.06", images: 2, operation: "generate" });
    expect(made.structuredContent).toMatchObject({ request_id: record?.id, charge: "0.06", model: MODEL });
    expect(await server.gateway.usage.balance("other")).toEqual({ settled: "0", held: "0" });
  });

  it("gets the images themselves if it asks for base64, and the text has none of it", async () => {
    const client = await connect(await openMcpServer(), { version });

    const result = await client.callTool({
      name: "generate_image",
      arguments: { ...FOX, response_format: "b64_json" },
    });

    const [image] = result.content;
    if (image?.type !== "image") throw new Error("There is no image.");
    expect(image.mimeType).toBe("image/jpeg");
    expect(Buffer.from(image.data, "base64").subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
    expect(textOf(result).length).toBeLessThan(1000);
    expect(textOf(result)).toContain('"size":"2048x2048"');
  });

  it("gets the refusal of its budget as an error of the tool, and nothing is sent", async () => {
    const server = await openMcpServer();
    const client = await connect(server, { key: KEYS.poor, version });
    const call = () => client.callTool({ name: "generate_image", arguments: FOX });

    expect((await call()).isError).toBeUndefined();
    const refused = await call();

    expect(refused.isError).toBe(true);
    expect(errorOf(refused)).toMatchObject({ code: "insufficient_quota", type: "insufficient_quota" });
    expect(textOf(refused)).toMatch(/^insufficient_quota: /);
    expect(server.emulator.requests).toHaveLength(1);
    expect(await server.gateway.usage.balance("poor")).toEqual({ settled: "0.03", held: "0" });
  });
});

describe("the arguments of a call", () => {
  it("that the tools do not name are fields of the request, and the gateway checks them", async () => {
    const server = await openMcpServer();
    const client = await connect(server);

    await client.callTool({ name: "generate_image", arguments: { ...FOX, watermark: false, size: "2K" } });
    expect(sentBodies(server)[0]).toMatchObject({ watermark: false, size: "2K", prompt: "a fox" });

    const refused = await client.callTool({ name: "generate_image", arguments: { ...FOX, size: "1x1" } });
    expect(errorOf(refused)).toMatchObject({ code: "invalid_request_error", param: "size" });
  });

  it.each<[object, string]>([
    [{ prompt: "a fox" }, "model: "],
    [{ ...FOX, n: 0 }, "n: "],
    [{ ...FOX, n: 1e300 }, "n: "],
    [{ ...FOX, n: 1.5 }, "n: "],
    [{ ...FOX, response_format: "png" }, "response_format: "],
    [{ ...FOX, stream: true }, "leave stream out"],
    [{ ...FOX, prompt: 7 }, "prompt: "],
    [{ ...FOX, model: "nowhere" }, "model_not_found"],
    [{ ...FOX, idempotency_key: "" }, "invalid_request_error"],
    [{ ...FOX, idempotency_key: "line\nbreak" }, "invalid_request_error"],
    [{ ...FOX, idempotency_key: "Schlüssel 雪" }, "invalid_request_error"],
  ])("%j are refused with %s", async (arguments_, message) => {
    const server = await openMcpServer();
    const client = await connect(server);

    const refused = await client.callTool({ name: "generate_image", arguments: { ...arguments_ } });

    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain(message);
    expect(server.emulator.requests).toEqual([]);
  });

  it("may have numbers as Python writes them", async () => {
    const server = await openMcpServer();
    const params =
      '{"name":"generate_image","arguments":{"model":"M","prompt":"a fox","n":2.0,"seed":1e1}}'.replace(
        "M",
        MODEL,
      );

    const response = await sendMessage(
      server,
      `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":${params}}`,
    );

    expect(await response.text()).toContain("image 2");
    expect(sentBodies(server)[0]).toMatchObject({ seed: 10 });
  });
});

describe("a repeated call", () => {
  it("with the same idempotency key returns the same image and is charged once", async () => {
    const server = await openMcpServer();
    const client = await connect(server);
    const call = (prompt: string) =>
      client.callTool({ name: "generate_image", arguments: { ...FOX, prompt, idempotency_key: "fox-1" } });

    const [first, second] = [await call("a fox"), await call("a fox")];

    expect(readField(second, "data")).toEqual(readField(first, "data"));
    expect(server.emulator.requests).toHaveLength(1);
    expect(server.records.map(({ charge }) => charge)).toEqual(["0.03"]);
    expect(errorOf(await call("an owl"))).toMatchObject({ code: "idempotency_conflict" });
  });

  it("of an edit with the image of a task is charged once", async () => {
    const server = await openMcpServer();
    const client = await connect(server);
    const task = await client.callTool({ name: "generate_image", arguments: { ...FOX, as_task: true } });
    await client.callTool({ name: "get_task", arguments: { task_id: idOf(task) } });
    const edit = () =>
      client.callTool({
        name: "edit_image",
        arguments: { ...FOX, images: [{ task_id: idOf(task) }], idempotency_key: "edit-1" },
      });

    const [first, second] = [await edit(), await edit()];

    expect(errorOf(first)).toBeUndefined();
    expect(readField(second, "data")).toEqual(readField(first, "data"));
    expect(server.records.map(({ operation }) => operation)).toEqual(["generate", "edit"]);
  });

  it("without a key is another image", async () => {
    const server = await openMcpServer();
    const client = await connect(server);
    for (const _ of [1, 2]) await client.callTool({ name: "generate_image", arguments: FOX });
    expect(server.records).toHaveLength(2);
  });
});

describe("a task", () => {
  it("is returned at once, and has its images later", async () => {
    const server = await openMcpServer();
    const client = await connect(server);

    const begun = await client.callTool({ name: "generate_image", arguments: { ...FOX, as_task: true } });
    expect(begun.structuredContent).toMatchObject({ object: "image.task", status: "queued" });
    const ended = await client.callTool({
      name: "get_task",
      arguments: { task_id: idOf(begun), wait_seconds: 60 },
    });

    expect(ended.structuredContent).toMatchObject({ id: idOf(begun), status: "completed" });
    expect(ended.content[0]).toMatchObject({ type: "resource_link", name: "image 1" });
    expect(server.records).toMatchObject([{ caller: "agent", charge: "0.03" }]);
  });

  it("of another caller is not found, also as the image of an edit", async () => {
    const server = await openMcpServer();
    const [client, other] = [await connect(server), await connect(server, { key: KEYS.other })];
    const begun = await client.callTool({ name: "generate_image", arguments: { ...FOX, as_task: true } });
    const task = { task_id: idOf(begun) };
    await client.callTool({ name: "get_task", arguments: task });

    const read = await other.callTool({ name: "get_task", arguments: task });
    const edited = await other.callTool({ name: "edit_image", arguments: { ...FOX, images: [task] } });

    expect(errorOf(read)).toMatchObject({ code: "task_not_found" });
    expect(errorOf(edited)).toMatchObject({ code: "task_not_found" });
    expect(server.emulator.requests).toHaveLength(1);
  });

  it.each([
    "task_1",
    "..",
    ".",
    "../../models",
    "task_1?wait=60",
    "%2e%2e",
    "task_1/cancel",
    "task_1/events",
  ])("with the id %j is not found", async (id) => {
    const client = await connect(await openMcpServer());
    const read = await client.callTool({ name: "get_task", arguments: { task_id: id } });
    expect(errorOf(read)).toMatchObject({ code: "task_not_found" });
  });

  it("that failed has its error", async () => {
    const server = await openMcpServer();
    server.emulator.faults.add({ code: "InputTextSensitiveContentDetected" });
    const client = await connect(server);
    const begun = await client.callTool({ name: "generate_image", arguments: { ...FOX, as_task: true } });

    const ended = await client.callTool({ name: "get_task", arguments: { task_id: idOf(begun) } });

    expect(ended.structuredContent).toMatchObject({
      status: "failed",
      error: { code: "InputTextSensitiveContentDetected" },
    });
    const edit = await client.callTool({
      name: "edit_image",
      arguments: { ...FOX, images: [{ task_id: idOf(begun) }] },
    });
    expect(errorOf(edit)).toMatchObject({
      param: "images",
      message: expect.stringContaining("status is failed"),
    });
  });
});

describe("an edit", () => {
  it("takes a data URL, and the image of a task by its number", async () => {
    const server = await openMcpServer();
    const client = await connect(server);
    const begun = await client.callTool({
      name: "generate_image",
      arguments: { ...FOX, n: 2, as_task: true },
    });
    const task = await client.callTool({ name: "get_task", arguments: { task_id: idOf(begun) } });
    const second = task.content[1];
    const made = await client.callTool({
      name: "generate_image",
      arguments: { ...FOX, response_format: "b64_json" },
    });
    const [image] = made.content;
    const dataUrl = image?.type === "image" ? `data:${image.mimeType};base64,${image.data}` : "";

    const edited = await client.callTool({
      name: "edit_image",
      arguments: { ...FOX, images: [dataUrl, { task_id: idOf(begun), index: 1 }] },
    });

    expect(errorOf(edited)).toBeUndefined();
    expect(sentBodies(server)[2]).toMatchObject({
      image: [dataUrl, second?.type === "resource_link" ? second.uri : undefined],
    });
    expect(server.records.map(({ operation }) => operation)).toEqual(["generate", "generate", "edit"]);
  });

  it("sends the bytes of an image that this server has stored, because a provider cannot open its links", async () => {
    const directory = await mkdtemp(join(tmpdir(), "calotype-mcp-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const server = await openMcpServer({ results: { store: createFileStore({ directory }) } });
    const client = await connect(server);
    const begun = await client.callTool({ name: "generate_image", arguments: { ...FOX, as_task: true } });
    const task = await client.callTool({ name: "get_task", arguments: { task_id: idOf(begun) } });
    const [link] = task.content;
    const stored = await fetch(link?.type === "resource_link" ? link.uri : "");

    const edited = await client.callTool({
      name: "edit_image",
      arguments: { ...FOX, images: [{ task_id: idOf(begun) }] },
    });

    expect(errorOf(edited)).toBeUndefined();
    expect(link).toMatchObject({ uri: expect.stringContaining(`${server.url.origin}/v1/images/files/`) });
    const image = String(sentBodies(server)[1]?.["image"]);
    expect(image).toMatch(/^data:image\/jpeg;base64,/);
    expect(sha256(Buffer.from(image.slice(image.indexOf(",") + 1), "base64"))).toBe(
      sha256(new Uint8Array(await stored.arrayBuffer())),
    );
  });

  it.each([
    ["/etc/passwd"],
    ["file:///etc/passwd"],
    ["C:\\Users\\me\\fox.png"],
    ["fox.png"],
    ["http://169.254.169.254/latest/meta-data"],
    ["http://127.0.0.1:6379/"],
    ["https://localhost/fox.png"],
  ])("does not take %s", async (image) => {
    const server = await openMcpServer();
    const client = await connect(server);

    const refused = await client.callTool({ name: "edit_image", arguments: { ...FOX, images: [image] } });

    expect(errorOf(refused)).toMatchObject({
      code: "invalid_request_error",
      param: expect.stringMatching(/^image/),
    });
    expect(server.emulator.requests).toEqual([]);
  });

  it("takes no more than 32 images, and no more bytes of stored images than a body may have", async () => {
    const directory = await mkdtemp(join(tmpdir(), "calotype-mcp-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const store = createFileStore({ directory });
    const server = await openMcpServer({ results: { store }, bodyLimits: { json: 10_000 } });
    const client = await connect(server);
    const begun = await client.callTool({ name: "generate_image", arguments: { ...FOX, as_task: true } });
    const task = { task_id: idOf(begun) };
    await client.callTool({ name: "get_task", arguments: task });
    const edit = (images: readonly object[]) =>
      client.callTool({ name: "edit_image", arguments: { ...FOX, images } });

    expect(textOf(await edit(Array.from({ length: 33 }, () => task)))).toContain("images: ");
    expect(errorOf(await edit([task]))).toMatchObject({
      message: expect.stringContaining("too large together"),
    });
    expect(sentBodies(server)).toHaveLength(1);
  });

  it("has the argument images, and refuses image of the HTTP interface", async () => {
    const client = await connect(await openMcpServer());
    const image = "https://example.com/fox.png";
    const refused = await client.callTool({ name: "edit_image", arguments: { ...FOX, image } });
    expect(textOf(refused)).toContain("images: ");
  });
});

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

describe("a request to /mcp", () => {
  it.each([
    ["without a key", { authorization: "" }],
    ["with a wrong key", { authorization: "Bearer sk-wrong" }],
  ])("%s is a 401, also for a list of the tools", async (_what, headers) => {
    const server = await openMcpServer();

    const response = await sendMessage(server, LIST, headers);

    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.json()).toMatchObject({ error: { code: "invalid_api_key" } });
  });

  it.each(["GET", "DELETE", "PUT"])("by %s is a 405, because there are no sessions", async (method) => {
    const { url } = await openMcpServer();
    const response = await fetch(url, { method, headers: { accept: "text/event-stream" } });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await response.json()).toMatchObject({ error: { code: "method_not_allowed" } });
  });

  it.each<[string, string, number, string]>([
    ["that is not JSON", "{", 400, "invalid_request_error"],
    ["that is empty", "", 400, "invalid_request_error"],
    ["that is a batch", JSON.stringify([LIST, LIST]), 400, "invalid_request_error"],
    ["that is a string", '"tools/list"', 400, "invalid_request_error"],
    ["that is not JSON-RPC", "{}", 400, "-32"],
    ["of JSON-RPC 1.0", '{"id":1,"method":"tools/list"}', 400, "-32"],
    ["with an id that is a list", '{"jsonrpc":"2.0","id":[1],"method":"tools/list"}', 400, "-32"],
    ["with a method that is a number", '{"jsonrpc":"2.0","id":1,"method":7}', 400, "-32"],
    ["with an unknown method", '{"jsonrpc":"2.0","id":1,"method":"images/steal"}', 200, "-32601"],
    [
      "with an unknown tool",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}',
      200,
      "x",
    ],
    ["with params that are a list", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 400, "-32"],
  ])("with a message %s is an error, and the server goes on", async (_what, body, status, code) => {
    const server = await openMcpServer();

    const response = await sendMessage(server, body);

    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(code)]);
    expect((await sendMessage(server, LIST)).status).toBe(200);
    expect(server.emulator.requests).toEqual([]);
  });

  it("of another content type is a 415, and a larger one than bodyLimits.json is a 413", async () => {
    const server = await openMcpServer({ bodyLimits: { json: 1000 } });
    expect((await sendMessage(server, LIST, { "content-type": "text/plain" })).status).toBe(415);
    expect((await sendMessage(server, { ...LIST, padding: "x".repeat(1000) })).status).toBe(413);
  });

  it("with a notification is a 202", async () => {
    const server = await openMcpServer();
    const response = await sendMessage(server, { jsonrpc: "2.0", method: "notifications/initialized" });
    expect([response.status, await response.text()]).toEqual([202, ""]);
  });

  it("needs no session id, and ignores one", async () => {
    const server = await openMcpServer();
    const response = await sendMessage(server, LIST, { "mcp-session-id": "of-another-server" });
    expect(response.status).toBe(200);
    expect(response.headers.get("mcp-session-id")).toBeNull();
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(response.headers.get("connection")).not.toBe("close");
  });

  it("that would listen to changes has nothing to wait for", async () => {
    const server = await openMcpServer();
    const listen = {
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": listen.method };

    const response = await sendMessage(server, listen, headers);

    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"id":1')]);
  });

  it("of a gateway that has closed is a 503", async () => {
    const server = await openMcpServer();
    await server.gateway.close();
    expect((await sendMessage(server, LIST)).status).toBe(503);
  });

  it("is matched below a base path, and not elsewhere", async () => {
    const server = await openMcpServer({ basePath: "/ai" });
    const url = new URL("/ai/mcp", server.url);
    expect((await sendMessage({ url }, LIST)).status).toBe(200);
    expect((await sendMessage({ url: new URL("/ai/mcp/", server.url) }, LIST)).status).toBe(200);
    expect((await sendMessage(server, LIST)).status).toBe(404);
    const client = await connect({ url });
    expect((await client.callTool({ name: "generate_image", arguments: FOX })).isError).toBeUndefined();
  });
});

const SHOP = "https://shop.example";

describe("the header Origin", () => {
  it.each<[string, number, string]>([
    ["of another site", 403, "https://evil.example"],
    ["of an opaque page", 403, "null"],
    ["with another port", 403, "http://127.0.0.1:1"],
    ["with another scheme", 403, "https://HOST"],
    ["that continues ours", 403, "http://HOST.evil.example"],
    ["of this server", 200, "http://HOST"],
    ["that cors.origins names", 200, SHOP],
  ])("%s is a %i", async (_what, status, origin) => {
    const server = await openMcpServer({ cors: { origins: [SHOP] } });

    const response = await sendMessage(server, LIST, { origin: origin.replace("HOST", server.url.host) });

    expect(response.status).toBe(status);
    expect((await response.text()).includes("cross_site_request")).toBe(status === 403);
  });

  it("is not allowed by cors.origins * alone, and is checked before the key", async () => {
    const server = await openMcpServer({ cors: { origins: "*" } });
    const response = await sendMessage(server, LIST, { origin: SHOP, authorization: "Bearer sk-wrong" });
    expect(response.status).toBe(403);
  });

  it("is compared with publicUrl in place of the header Host", async () => {
    const server = await openMcpServer(
      {},
      { feature: () => mcp({ publicUrl: "https://app.example.com/ai" }) },
    );
    const send = async (origin: string) => (await sendMessage(server, LIST, { origin })).status;
    expect([await send("https://app.example.com"), await send(server.url.origin)]).toEqual([200, 403]);
  });
});

describe("a client that disconnects during a call", () => {
  it("is charged for the image, and nothing hangs", async () => {
    const server = await openMcpServer();
    server.emulator.faults.add({ latencyMs: 1500 });
    const controller = new AbortController();
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "generate_image", arguments: FOX },
    };
    const response = await sendMessage(server, call, {}, controller.signal);
    await vi.waitFor(() => expect(server.emulator.requests).toHaveLength(1), { timeout: 10_000 });

    controller.abort();
    await expect(response.text()).rejects.toThrow(/abort/);

    await vi.waitFor(() => expect(server.records).toMatchObject([{ caller: "agent", charge: "0.03" }]), {
      timeout: 10_000,
    });
    await server.gateway.close();
    expect(server.logged).toEqual([]);
  });
});

it("gets an error of the tool if a long response breaks off", async () => {
  const server = await openMcpServer();
  server.emulator.faults.add({ body: { cutAfterBytes: 300_000 } });
  const client = await connect(server);

  const result = await client.callTool({
    name: "generate_image",
    arguments: { ...FOX, n: 4, size: "4K", response_format: "b64_json" },
  });

  expect(errorOf(result)).toMatchObject({
    code: "upstream_invalid_response",
    request_id: server.records[0]?.id,
  });
  expect(server.records).toMatchObject([{ charge: "0", errorCode: "upstream_invalid_response" }]);
});

const compose = (...features: readonly Feature[]) =>
  composeGateway(
    {
      models: { [MODEL]: { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "key" }],
      authenticate: async (key) => ({ id: key }),
      fetch: async () =>
        Response.json({
          model: MODEL,
          created: 1,
          data: [{ url: "https://ark.example/1.png" }],
          usage: {},
        }),
    },
    { families: [seedream], features: [mcp(), ...features] },
  );
/** Calls a tool through `handle`, as a host does whose body parser has run. */
const callTool = async (gateway: ComposedGateway, name: string, args: object): Promise<CallToolResult> => {
  const response = await gateway.handle({
    method: "POST",
    url: "/mcp",
    headers: new Headers({
      "api-key": "me",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    }),
    body: null,
    parsedBody: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
    signal: new AbortController().signal,
  });
  const body = response?.body;
  if (typeof body !== "object" || body instanceof Uint8Array) throw new Error("There are no events.");
  let events = "";
  for await (const chunk of body) events += new TextDecoder().decode(chunk);
  return JSON.parse(/^data: (.*)$/m.exec(events)?.[1] ?? "").result;
};

describe("in a composed gateway", () => {
  it("makes images for the callers of authenticate", async () => {
    const made = await callTool(compose(), "generate_image", FOX);
    expect(made.content[0]).toEqual({
      type: "resource_link",
      uri: "https://ark.example/1.png",
      name: "image 1",
    });
  });

  it.each([
    ["generate_image", { ...FOX, as_task: true }, "invalid_request_error", "This server has no tasks"],
    [
      "generate_image",
      { ...FOX, idempotency_key: "a" },
      "invalid_request_error",
      "does not recognize repeated calls",
    ],
    ["get_task", { task_id: "task_1" }, "not_found", "not served"],
    ["list_models", {}, "not_found", "not served"],
  ])("without the feature that it needs, %s with %j is refused", async (name, args, code, message) => {
    const refused = await callTool(compose(), name, args);
    expect(errorOf(refused)).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it("recognizes repeated calls with limits, and lists models with modelsList", async () => {
    const gateway = compose(limits(), modelsList());
    const again = () => callTool(gateway, "generate_image", { ...FOX, idempotency_key: "a" });
    expect(readField(await again(), "data")).toEqual(readField(await again(), "data"));
    expect(readField(await callTool(gateway, "list_models", {}), "data")).toMatchObject([{ id: MODEL }]);
  });

  it("leaves the model that is called mcp to the list of models", async () => {
    const gateway = compose(modelsList());
    const headers = { "api-key": "me" };
    const response = await gateway.fetch(new Request("http://localhost/v1/models/mcp", { headers }));
    expect(await response.json()).toMatchObject({ error: { code: "model_not_found" } });
  });
});

describe("mcp", () => {
  it("names the version of the package", async () => {
    const manifest = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
    const client = await connect(await openMcpServer());
    expect(client.getServerVersion()).toEqual({ name: "calotype", version: manifest.version });
  });

  it("refuses wrong options", () => {
    expect(() => mcp({ publicUrl: "app.example.com" })).toThrow(
      "publicUrl of mcp must be an http or https address",
    );
    // @ts-expect-error -- There is no such option.
    expect(() => mcp({ origins: "*" })).toThrow("mcp has no option origins");
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
