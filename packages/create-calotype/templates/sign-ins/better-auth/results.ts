import type { GatewayOptions } from "@calotype/core";
import { createFileStore } from "@calotype/node";

/**
 * Images are stored for 7 days, so that the page finds them again, also those of providers that have no links. The folder is for
 * one machine; for several, take the store of `@calotype/s3`.
 */
export const results: GatewayOptions["results"] = {
  store: createFileStore({ directory: "data/images" }),
  publicUrl: process.env.BETTER_AUTH_URL || undefined,
};
