import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "@calotype/conformance/browser/open-browser";
import { findAxeProblems, measureOverflow } from "@calotype/conformance/studio/find-problems";
import { expect, it, onTestFinished } from "vitest";
import { listGuides } from "./navigation.ts";
import { webPathOf } from "./pages.ts";
import { serveBuilt } from "./testing/serve-built.ts";

/* Takes 80 seconds of CPU time: only in `npm run test:full`. */

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
  const loaded = home.replaceAll(/<link rel="canonical"[^>]*>/g, "");
  expect([...loaded.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="https?:/g)]).toEqual([]);
  expect(home).toContain('<link rel="canonical" href="https://');
  // The pages as Markdown.
  expect(readFileSync(join(DIST, "llms.txt"), "utf8")).toContain(
    "](/quick-start/express.md): A gateway in an Express app",
  );
  expect(readFileSync(join(DIST, "llms-full.txt"), "utf8")).toContain("# Troubleshooting");
  expect(readFileSync(join(DIST, "quick-start/express.md"), "utf8")).toContain("](/adapters/express.md)");
  // A command of npm is shown for the other package managers too.
  expect(readFileSync(join(DIST, "quick-start/express.html"), "utf8")).toContain('data-title="pnpm"');
}, 600_000);

const PAGES = [
  "/",
  "/your-users",
  "/pricing",
  "/price-rules",
  "/fallback",
  "/images-in-the-background",
  "/comparison",
  "/words",
  "/zh/",
  "/zh/your-users",
  "/zh/pricing",
];
const LOOKS = [360, 1280].flatMap((width) => (["light", "dark"] as const).map((theme) => ({ width, theme })));

it.each(LOOKS)(
  "fits into $width pixels, $theme, without a finding of axe, and its search finds a task",
  { timeout: 300_000 },
  async ({ width, theme }) => {
    const chromium = await openBrowser();
    if (chromium === undefined) return;
    const { origin, close } = await serveBuilt(DIST);
    onTestFinished(close);
    onTestFinished(chromium.close);
    const context = await chromium.browser.newContext({
      viewport: { width, height: 760 },
      colorScheme: theme,
    });
    const page = await context.newPage();
    for (const path of PAGES) {
      await page.goto(origin + path, { waitUntil: "load" });
      // The theme has completed what VitePress leaves out.
      await page.locator("main, [role=main]").first().waitFor();
      const found = { problems: await findAxeProblems(page), overflow: await measureOverflow(page) };
      expect({ path, ...found }).toEqual({ path, problems: [], overflow: 0 });
    }

    await page.goto(origin, { waitUntil: "load" });
    await page.locator(".search-button").click();
    await page.getByRole("searchbox").fill("price without restart");
    await page.locator(".search-hits a").first().waitFor();
    expect(await page.locator(".search-hits mark").count()).toBeGreaterThan(0);
    expect(await findAxeProblems(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/changing-prices");
  },
);

/** What a reader sees of a page without scrolling, on a common laptop. */
const SCREEN = { width: 1440, height: 900 };

it("every guide has at most two screens", { timeout: 120_000 }, async () => {
  const chromium = await openBrowser();
  if (chromium === undefined) return;
  const { origin, close } = await serveBuilt(DIST);
  onTestFinished(close);
  onTestFinished(chromium.close);
  // The built pages are complete without their scripts.
  const page = await chromium.browser.newPage({ viewport: SCREEN, javaScriptEnabled: false });
  const tooLong: string[] = [];
  for (const guide of listGuides()) {
    await page.goto(`${origin}/${webPathOf(`${guide}.md`)}`, { waitUntil: "load" });
    const box = await page.locator(".vp-doc").first().boundingBox();
    const screens = (box?.height ?? Number.POSITIVE_INFINITY) / SCREEN.height;
    if (screens > 2) tooLong.push(`${guide} has ${screens.toFixed(2)} screens`);
  }

  expect(tooLong).toEqual([]);
});

it("builds a released version beside it, whose links and search stay in that version", () => {
  const release = ownRelease();

  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, "build", "--release", release], {
    encoding: "utf8",
  });

  // The check of the links takes each link out of the version for a dead one.
  expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
  const folder = join(DIST, `v${release}`);
  for (const [language, page] of [
    ["en", "faq"],
    ["zh", "zh/quick-start"],
  ]) {
    // The paths of the sections are relative to the version: the page adds its own base.
    const [data = ""] = globSync(`assets/chunks/${language}.*.js`, { cwd: folder });
    const text = readFileSync(join(folder, data), "utf8").replaceAll("\\", "");
    const found = [...text.matchAll(/"id":"([^"]*)"/g)].map(([, address = ""]) => address);
    expect(found.some((address) => address.startsWith(`${page}#`))).toBe(true);
    expect(found.filter((address) => address.startsWith("/"))).toEqual([]);
  }
}, 600_000);

/** The minor version of this checkout, such as `0.2`. */
function ownRelease(): string {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../core/package.json"), "utf8"));
  return String(version).split(".").slice(0, 2).join(".");
}
