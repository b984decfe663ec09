import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createGateway, type Gateway, type GatewayOptions, type UsageRecord } from "@calotype/core";
import type { Feature } from "@calotype/core/compose";
import { createEmulator, type Emulator } from "@calotype/emulator";
import { toNodeHandler } from "@calotype/node";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { mcp } from "../mcp.js";

export const MODEL = "doubao-seedream-4-5-251128";

/** The keys of three callers. `poor` can pay for one image. */
export const KEYS = { agent: "sk-agent", poor: "sk-poor", other: "sk-other" } as const;

/** A gateway with tools on a port of this machine, whose provider is the emulator. */
export interface McpTestServer {
  readonly url: URL;
  readonly gateway: Gateway;
  readonly emulator: Emulator;
  /** The usage records so far. */
  readonly records: readonly UsageRecord[];
  /** What the gateway has logged: the messages of warnings and errors. */
  readonly logged: readonly string[];
}

/** What differs in a test besides the options of the gateway. */
interface OpenOptions {
  /** Default: `mcp()`. */
  readonly feature?: (origin: string) => Feature;
  /** The key of requests without one. Default: none. */
  readonly defaultKey?: string;
}

/** Opens a server that is closed when the test has finished. */
export async function openMcpServer(
  options: Partial<GatewayOptions> = {},
  { feature = () => mcp(), defaultKey }: OpenOptions = {},
): Promise<McpTestServer> {
  const emulator = createEmulator();
  const provider = await emulator.listen();
  const records: UsageRecord[] = [];
  const logged: string[] = [];
  const log = (_fields: object, message: string): void => void logged.push(message);
  let handler: ReturnType<typeof toNodeHandler> | undefined;
  const server = createServer((request, response) => {
    if (defaultKey !== undefined) request.headers.authorization ??= `Bearer ${defaultKey}`;
    handler?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${portOf(server.address())}`;
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "key", baseUrl: provider.arkBaseUrl }],
    callers: [
      { id: "agent", key: KEYS.agent },
      { id: "poor", key: KEYS.poor, budget: "0.03" },
      { id: "other", key: KEYS.other },
    ],
    billing: { model_details: { [MODEL]: { pricing_mode: "per-request", model_price: "0.03" } } },
    onUsage: (record) => void records.push(record),
    logger: { info: () => undefined, warn: log, error: log },
    features: [feature(origin)],
    ...options,
  });
  handler = toNodeHandler(gateway);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.close();
    await provider.close();
  });
  return { url: new URL(`${origin}/mcp`), gateway, emulator, records, logged };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

/** How a client connects. */
interface ConnectOptions {
  readonly key?: string;
  /** The version of the protocol: `2025-11-25` begins with `initialize`, and `2026-07-28` has no such handshake. */
  readonly version?: string;
}

/** Connects the official client. It is closed when the test has finished. */
export async function connect(
  { url }: Pick<McpTestServer, "url">,
  { key = KEYS.agent, version = "2025-11-25" }: ConnectOptions = {},
): Promise<Client> {
  const isModern = version >= "2026";
  const client = new Client(
    { name: "test", version: "1" },
    isModern ? { versionNegotiation: { mode: { pin: version } } } : {},
  );
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** Sends a message without a client. */
export function sendMessage(
  { url }: Pick<McpTestServer, "url">,
  message: unknown,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${KEYS.agent}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof message === "string" ? message : JSON.stringify(message),
    signal: signal ?? null,
  });
}

/** The bodies of the requests for images that the provider has got. */
export function sentBodies({
  emulator,
}: Pick<McpTestServer, "emulator">): readonly Record<string, unknown>[] {
  return emulator.requests.filter(({ route }) => route === "ark").map(({ bodyText }) => JSON.parse(bodyText));
}
