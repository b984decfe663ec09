import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/* Takes half a minute of CPU time: only in `npm run test:full`. */

const COMMAND = join(import.meta.dirname, "command.ts");
const DIST = join(import.meta.dirname, "../dist");

it("builds without a dead link, with the reference, both languages and no resource of another host", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, "build"], { encoding: "utf8" });

  expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
  for (const page of [
    "index",
    "quick-start/index",
    "reference/core/index",
    "errors/overloaded",
    "zh/introduction",
  ]) {
    expect(existsSync(join(DIST, `${page}.html`)) || page).toBe(true);
  }
  const home = readFileSync(join(DIST, "index.html"), "utf8");
  expect([...home.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="https?:/g)]).toEqual([]);
}, 180_000);
