import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Holds each request to an address. The function lets the first of them go on, and waits for it before. */
export async function holdRequests(page: Page, address: string): Promise<() => Promise<void>> {
  const held: (() => void)[] = [];
  await page.route(address, async (route) => {
    await new Promise<void>((resolve) => {
      held.push(resolve);
    });
    await route.continue();
  });
  return async () => {
    await expect.poll(() => held.length).toBeGreaterThan(0);
    held.shift()?.();
  };
}
