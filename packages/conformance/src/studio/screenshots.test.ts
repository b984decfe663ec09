import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Gateway } from "@calotype/core";
import type { Emulator } from "@calotype/emulator";
import type { Page } from "playwright-core";
import sharp from "sharp";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { CALLER_KEY, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { fillLedger, SHOWN_ID } from "./fill-ledger.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

const DOCS = fileURLToPath(new URL("../../../../docs/", import.meta.url));
/** The fixed time of the records, and of the page. */
const NOW = Date.parse("2026-11-23T09:00:00Z");
const CALLERS = [
  { id: "web-shop", key: CALLER_KEY, budget: "3.9" },
  { id: "design-team", key: "shown-key-2", budget: "2.8" },
  { id: "a-caller-with-a-rather-long-name-2026", key: "shown-key-3", budget: "100" },
];

/** The screens that docs/studio.md shows. */
const SCREENS = [
  { name: "try", theme: "light", open: openTry },
  { name: "usage", theme: "light", path: "/usage", ready: ".chart" },
  { name: "request", theme: "light", path: `/usage?request=${SHOWN_ID}`, ready: "aside .timeline" },
  { name: "channels", theme: "dark", path: "/channels", open: openChannels },
  { name: "callers", theme: "light", path: "/callers", ready: "tbody" },
] as const;

/**
 * `vitest --update` writes the images. Every other run makes them too, and compares the words of each screen with those at the
 * time of its image, in `docs/studio/words.json`. Pixels are not compared: they differ between machines.
 */
describe.runIf(opened !== undefined)("the screenshots of docs/studio.md", { timeout: 120_000 }, () => {
  const providers = useProviders({ images: "full", seed: 1841 });
  const open = async (options: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), {
      ...options,
      studio: { caller: "web-shop" },
      gateway: { callers: CALLERS, ledger: await fillLedger(NOW) },
    });
  };

  it("are those of the present screens", async () => {
    const words: Record<string, readonly string[]> = {};
    for (const screen of SCREENS) {
      const { page, gateway, complaints } = await open({
        path: "path" in screen ? screen.path : "/try",
        context: { colorScheme: screen.theme, timezoneId: "UTC", viewport: { width: 1280, height: 800 } },
      });
      if ("open" in screen) await screen.open(page, gateway, providers().emulator);
      else await openAt(page, screen.ready);
      words[screen.name] = await readWords(page);
      const path = join(DOCS, "studio", `${screen.name}.png`);
      const image = await sharp(await page.screenshot({ animations: "disabled" }))
        .png({ palette: true, quality: 85, effort: 10 })
        .toBuffer();
      if (isUpdating()) writeFileSync(path, image);

      expect(complaints).toEqual([]);
      expect(existsSync(path)).toBe(true);
      expect(await sharp(path).metadata()).toMatchObject({ format: "png", width: 1280, height: 800 });
      expect(readFileSync(path).length).toBeLessThan(100_000);
    }
    await expect(`${JSON.stringify(words, null, 2)}\n`).toMatchFileSnapshot(join(DOCS, "studio/words.json"));
  });

  it("are all shown, with a description", () => {
    const text = readFileSync(join(DOCS, "studio.md"), "utf8");
    const shown = [...text.matchAll(/!\[[^\]]{10,}\]\(studio\/(\w+)\.png\)/g)].map(([, name]) => name);

    expect(new Set(shown)).toEqual(new Set(SCREENS.map(({ name }) => name)));
    expect(shown).toHaveLength(SCREENS.length);
  });
});

async function openAt(page: Page, ready: string): Promise<void> {
  await page.clock.setFixedTime(NOW);
  await page.reload();
  await page.locator(ready).first().waitFor();
  // Each part of a screen reads its own data.
  await page.waitForLoadState("networkidle");
  await page.locator("main").getByText("…", { exact: true }).first().waitFor({ state: "detached" });
}

async function openTry(page: Page): Promise<void> {
  await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
  await page.getByLabel("Aspect").selectOption("16:9");
  await page.getByLabel("Images", { exact: true }).selectOption("4");
  await page.getByLabel("Prompt").fill("A fox in a library, morning light");
  await page.getByRole("button", { name: "Make images" }).click();
  await page.getByText("Charge 0.12").waitFor();
  await page.getByText("How this was computed").click();
  // As a person would see it: without the mark of the focus, and with all images decoded.
  await page.evaluate("Promise.all(Array.from(document.images, (image) => image.decode()))");
}

/** A channel that has failed, beside one that works. */
async function openChannels(page: Page, gateway: Gateway, emulator: Emulator): Promise<void> {
  for (let index = 0; index < 3; index++) await gateway.probeChannel("dashscope");
  await gateway.probeChannel("ark");
  emulator.faults.add({ status: 401, times: 1 });
  await gateway.probeChannel("ark");
  await page.reload();
  await page.getByRole("cell", { name: "Cooling down" }).first().waitFor();
}

/** The words that belong to the studio: of headings, labels, buttons and columns. */
function readWords(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(
    `[...new Set(Array.from(document.querySelectorAll("h1, h2, h3, label, legend, dt, th, button, nav a"),
      (element) => element.textContent.trim()))].filter((text) => text !== "" && !/\\\\d/.test(text))`,
  );
}

/** Whether vitest was started with `--update`. */
function isUpdating(): boolean {
  return Reflect.get(expect.getState().snapshotState, "_updateSnapshot") === "all";
}
