import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";

/** With this variable, the tests write the pages there as images, for people. */
export const SHOTS = process.env["STUDIO_SCREENSHOTS"];

/** Writes what the page shows as an image, if the person wants that. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}
