import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { ROOT } from "../support/workspace.ts";

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
  try {
    const browser = await start();
    return { browser, close: () => browser.close() };
  } catch (cause) {
    const notice = `needs Chromium, which does not start on this machine (${VARIABLE} can name another one)`;
    if (process.env["CI"] === "true") throw new Error(`This test file ${notice}.`, { cause });
    process.stderr.write(`Left out: what ${notice}.\n`);
    return undefined;
  }
}

const FLAGS = [
  "--disable-gpu",
  "--in-process-gpu",
  "--disable-quic",
  "--disable-sync",
  // The tests use this machine only, and so does the browser. Other sites have names such as evil.example.
  "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

async function start(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  const executablePath = process.env[VARIABLE] ?? (await findUnpacked());
  return chromium.launch({ executablePath, chromiumSandbox: false, args: FLAGS, timeout: 15_000 });
}

const CACHE = join(ROOT, "node_modules/.cache");

/**
 * Unpacks Chromium once for each version of its package: it has 210 MB, and takes as much CPU time as many tests. Processes
 * that do this at the same time use the folder of the first.
 */
async function findUnpacked(): Promise<string> {
  const { version } = JSON.parse(
    await readFile(new URL("../package.json", import.meta.resolve("@sparticuz/chromium")), "utf8"),
  );
  const folder = join(CACHE, `chromium-${version}`);
  if (!existsSync(folder)) {
    await mkdir(CACHE, { recursive: true });
    const incomplete = await mkdtemp(join(CACHE, "unpacking-chromium-"));
    try {
      await unpack(incomplete);
      await rename(incomplete, folder).catch((error: unknown) => {
        if (!existsSync(folder)) throw error;
      });
    } finally {
      await rm(incomplete, { recursive: true, force: true });
    }
  }
  return join(folder, "chromium");
}

async function unpack(folder: string): Promise<void> {
  // Its `args` are not used, because they turn off the checks of origins.
  const { default: packed } = await import("@sparticuz/chromium");
  const before = process.env["TMPDIR"];
  // The package unpacks to the folder of temporary files.
  process.env["TMPDIR"] = folder;
  try {
    await packed.executablePath();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}
