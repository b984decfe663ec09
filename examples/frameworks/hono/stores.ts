import type { GatewayOptions } from "@calotype/core";

/** Everything is in memory: charges, budgets and limits are lost when the process ends. */
export const stores: Pick<GatewayOptions, "ledger" | "admission"> = {};

/** Runs when the gateway is closed. */
export async function closeStores(): Promise<void> {}
