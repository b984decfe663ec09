import { readFileSync } from "node:fs";
import type { ChannelOptions, GatewayOptions } from "@calotype/core";
import type { Environment } from "./read-options.ts";

/** The content of the file of CALOTYPE_CONFIG: the options of the gateway that can be written in JSON. */
export interface Config extends Partial<GatewayOptions> {
  channels?: readonly ChannelOptions[];
}

/** Reads the options of the file that CALOTYPE_CONFIG names. The gateway checks them. */
export function readConfig({ CALOTYPE_CONFIG: path }: Environment): Config {
  if (!path) return {};
  const config = parse(readFileSync(path, "utf8"), path);
  if (typeof config === "object" && config !== null && !Array.isArray(config)) return config;
  throw new Error(`${path} must contain an object with options of the gateway: { "channels": […], … }`);
}

function parse(text: string, path: string): Config | null {
  try {
    return JSON.parse(text);
  } catch {
    // Without the cause, which quotes the file: the file may contain keys.
    throw new Error(`${path} is not JSON.`);
  }
}
