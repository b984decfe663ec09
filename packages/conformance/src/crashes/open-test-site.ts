import type { LostPolicy } from "@calotype/core/billing";
import { onTestFinished } from "vitest";
import { openSite, type Site } from "./open-site.js";

/** Opens a site that is closed when the test ends. */
export async function openTestSite(onLost: LostPolicy, seed: number): Promise<Site> {
  const site = await openSite(onLost, seed);
  onTestFinished(() => site.close());
  return site;
}
