import type { GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { onTestFinished } from "vitest";
import { drawPng } from "../../../conformance/src/clients/support/images.js";
import { listen } from "../../../conformance/src/support/listen.js";
import {
  CALLER_KEY,
  type Providers,
  startGateway,
  type TestGateway,
} from "../../../conformance/src/support/test-gateway.js";
import { type Client, type ClientOptions, createClient } from "../index.js";

/** A gateway on a socket, and a client of it. */
export interface OpenGateway extends TestGateway {
  readonly url: string;
  readonly client: Client;
  /** Whether each response was read to its end, in the order in which they ended. */
  readonly ends: readonly ("complete" | "left")[];
  /** Another client of the gateway, with other options. */
  readonly connect: (options?: Partial<ClientOptions>) => Client;
}

/** Serves a gateway until the test ends. */
export async function openGateway(
  providers: Providers,
  options: Partial<GatewayOptions> = {},
): Promise<OpenGateway> {
  const test = startGateway(providers, options);
  const ends: ("complete" | "left")[] = [];
  const handle = toNodeHandler(test.gateway);
  const { url, close } = await listen((request, response) => {
    response.on("close", () => ends.push(response.writableFinished ? "complete" : "left"));
    handle(request, response);
  });
  onTestFinished(close);
  const connect: OpenGateway["connect"] = (more) =>
    createClient({ baseUrl: url, apiKey: CALLER_KEY, ...more });
  return { ...test, url, ends, connect, client: connect() };
}

/** A small PNG of this colour, as a page has it from a file input. */
export async function drawFile(red: number): Promise<File> {
  return new File([new Uint8Array(await drawPng(red))], `${red}.png`, { type: "image/png" });
}

/** The data URL of a file. */
export async function toDataUrl(file: Blob): Promise<string> {
  return `data:${file.type};base64,${Buffer.from(await file.arrayBuffer()).toString("base64")}`;
}
