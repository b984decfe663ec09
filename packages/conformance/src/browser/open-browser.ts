import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";

/** A browser, until it is closed. */
export interface OpenBrowser {
  readonly browser: Browser;
  readonly close: () => Promise<void>;
}

/** Another Chromium than that of `@sparticuz/chromium`, which is for Linux on x64. */
const VARIABLE = "CALOTYPE_CHROMIUM";

/**
 * Starts Chromium. If it does not start on this machine, prints a line and returns `undefined`.
 *
 * @throws Error if it does not start and `CI=true`
 */
export async function openBrowser(): Promise<OpenBrowser | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "calotype-chromium-"));
  try {
    const browser = await start(folder);
    return {
      browser,
      async close() {
        await browser.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    const notice = `needs Chromium, which does not start on this machine (${VARIABLE} can name another one)`;
    if (process.env["CI"] === "true") throw new Error(`This test file ${notice}.`, { cause });
    process.stderr.write(`Left out: what ${notice}.\n`);
    return undefined;
  }
}

const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--disable-sync",
  // The tests use this machine only, and so does the browser.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

async function start(folder: string): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  const executablePath = process.env[VARIABLE] ?? (await unpack(folder));
  return chromium.launch({ executablePath, chromiumSandbox: false, args: FLAGS, timeout: 15_000 });
}

/** Unpacks Chromium, 210 MB, into a folder. It takes two seconds. */
async function unpack(folder: string): Promise<string> {
  // Its `args` are not used, because they turn off the checks of origins.
  const { default: packed } = await import("@sparticuz/chromium");
  const before = process.env["TMPDIR"];
  // The package unpacks to the folder of temporary files, where an incomplete file of another run may be.
  process.env["TMPDIR"] = folder;
  try {
    return await packed.executablePath();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}
