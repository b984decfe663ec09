import { readFileSync } from "node:fs";
import type { ChannelOptions, GatewayOptions } from "@calotype/core";
import type { Environment } from "./read-options.ts";

/** What may stand in the file of CALOTYPE_CONFIG: options of the gateway, as far as JSON can write them. */
export interface Config extends Partial<GatewayOptions> {
  channels?: readonly ChannelOptions[];
}

/** The options of the file that CALOTYPE_CONFIG names; the gateway checks them. */
export function readConfig({ CALOTYPE_CONFIG: path }: Environment): Config {
  if (!path) return {};
  const config = parse(readFileSync(path, "utf8"), path);
  if (typeof config === "object" && config !== null && !Array.isArray(config)) return config;
  throw new Error(`${path} must hold an object with options of the gateway: { "channels": […], … }`);
}

function parse(text: string, path: string): Config | null {
  try {
    return JSON.parse(text);
  } catch {
    // Without the cause: it quotes the file, in which keys may stand.
    throw new Error(`${path} is not JSON.`);
  }
}
