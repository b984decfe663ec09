import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createMemoryLedger } from "@calotype/core";
import type { Ledger } from "@calotype/core/stores";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { drawPng } from "../clients/support/images.js";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { findAxeProblems } from "./find-problems.js";
import { holdRequests } from "./hold-requests.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

describe.runIf(opened !== undefined)("Try in Chromium", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 20 });
  const open = async (options?: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), { studio: { caller: "tester" }, ...options });
  };

  it("says that a charge is not known yet while the ledger has no record, and finds it later", async () => {
    const { ledger, release } = createLateLedger();
    const { page, complaints } = await open({ gateway: { ledger } });

    await make(page, "a fox");
    await page.getByAltText("Image 1: a fox").waitFor();
    await page.getByText("The charge is not known yet.").waitFor();
    expect(await page.getByText("Nothing was charged").count()).toBe(0);
    await shoot(page, "try-charge-later");
    release();

    await page.getByText("Charge 0.03").waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps a place with the aspect of each image that is being made, and says what is happening", async () => {
    const { page } = await open();
    providers().emulator.faults.add({ latencyMs: 1_500, times: 1 });

    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByLabel("Aspect").selectOption("16:9");
    await page.getByLabel("Images", { exact: true }).selectOption("3");
    await page.getByText("at most 0.09").waitFor();
    await make(page, "three foxes");

    await page.getByText("waiting for the provider").waitFor();
    await expect.poll(() => page.getByText(/^[1-9]\.\d s/).count()).toBe(1);
    const box = await page.locator("canvas.placeholder").first().boundingBox();
    expect(await page.locator("canvas.placeholder").count()).toBe(3);
    expect((box?.width ?? 0) / (box?.height ?? 1)).toBeCloseTo(16 / 9, 1);
    await shoot(page, "try-waiting");
    expect(await findAxeProblems(page)).toEqual([]);
    await page.getByText("3 images", { exact: true }).waitFor();
    expect(await page.locator("canvas.placeholder").count()).toBe(0);
  });

  it("shows no price of another model, and marks one that is out of date", async () => {
    const { page } = await open();
    const price = page.locator(".price-line .price");
    await price.getByText("at most 0.03").waitFor();
    const release = await holdRequests(page, "**/api/estimate");

    await page.getByLabel("Model", { exact: true }).selectOption(QWEN_IMAGE);
    expect(await price.innerText()).toBe("…");
    await release();
    await price.getByText("at most 0.075").waitFor();
    await page.getByLabel("Images", { exact: true }).selectOption("2");
    expect(await price.locator("[aria-busy=true]").innerText()).toContain("0.075");
    await release();

    await price.locator("[aria-busy=false]").getByText("at most 0.15").waitFor();
  });

  it("says what the second of two models does not get", async () => {
    const { page } = await open();
    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByLabel("Compare with").selectOption(QWEN_IMAGE);
    await page.getByText("at most 0.075").waitFor();
    expect(await page.getByText(/Not sent|It makes/).count()).toBe(0);
    await page.setInputFiles("input[type=file]", [
      { name: "1.png", mimeType: "image/png", buffer: await drawPng(1) },
    ]);
    await page.getByText("Not sent to this model: Reference images.").waitFor();
    await page.getByLabel("Images", { exact: true }).selectOption("15");

    await page.getByText(/It makes .*image/).waitFor();
    expect(providers().emulator.requests).toEqual([]);
  });

  it("shows the number of images that the further fields ask for", async () => {
    const { page } = await open();
    providers().emulator.faults.add({ latencyMs: 500, times: 1 });
    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByText("More fields").click();
    await page.getByLabel("Further fields, as JSON").fill('{"n": 3}');
    await page.getByText("at most 0.09").waitFor();

    await make(page, "three foxes");

    await page.locator("canvas.placeholder").nth(2).waitFor();
    await page.getByText("Charge 0.09").waitFor();
    expect(await page.locator("figure img").count()).toBe(3);
  });

  it("shows the charge above the images, which do not move for it, and the size of each image", async () => {
    const { ledger, release } = createLateLedger();
    const { page } = await open({ gateway: { ledger } });
    await page.getByLabel("Model", { exact: true }).selectOption(QWEN_IMAGE);
    await make(page, "a fox");

    const image = page.getByAltText("Image 1: a fox");
    await image.waitFor();
    await page.locator("figcaption", { hasText: /^\d+ × \d+/ }).waitFor();
    release();
    const charge = page.getByText("Charge 0.075");
    await charge.waitFor();
    const [above, below] = [await charge.boundingBox(), await image.boundingBox()];
    expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual(below?.y ?? 0);
  });

  it.each([
    [
      "refused by the provider, in its words and in ours",
      { status: 400, code: "InputTextSensitiveContentDetected" },
      [
        "The provider refused the request. Change the prompt or the images, then try again.",
        "In the provider's words:",
      ],
      "Charge 0",
    ],
    [
      "after a failure of the provider",
      { status: 500 },
      ["The provider failed, or its response could not be used."],
      "Charge 0",
    ],
  ] as const)("shows a request %s, and what was charged", async (_case, fault, texts, charge) => {
    const { page, complaints } = await open();
    providers().emulator.faults.add({ ...fault, times: 1 });

    await make(page, "a fox");

    for (const shown of texts) await page.getByText(shown).waitFor();
    await page.getByText(charge, { exact: true }).waitFor();
    await shoot(page, `try-error-${fault.status}`);
    expect(await findAxeProblems(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it("says that nothing was charged if the gateway refuses, and that it is not known if nothing responds", async () => {
    const { page } = await open({
      gateway: { callers: [{ id: "tester", key: CALLER_KEY, budget: "0.01" }] },
    });

    await make(page, "a fox");
    await page.getByText("The budget of the caller does not cover this request.").waitFor();
    await page.getByText("Nothing was charged: the request reached no provider.").waitFor();
    // What happened, whether money was spent.
    expect(await page.locator(".run").innerText()).toMatch(
      /no image[^]*does not cover[^]*Nothing was charged/,
    );
    await page.route("**/api/images/**", (route) => route.abort());
    await page.getByRole("button", { name: "Make images" }).click();
    await page.getByText("The server does not respond.").waitFor();
    await page.getByText("It is not known whether the request reached the gateway.").waitFor();
    expect(providers().emulator.requests).toEqual([]);
  });

  it("keeps the draft, the images and a request in progress while the person looks at another view", async () => {
    const { page, records, complaints } = await open();

    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.setInputFiles("input[type=file]", {
      name: "1.png",
      mimeType: "image/png",
      buffer: await drawPng(1),
    });
    await make(page, "a fox");
    await page.getByText("Charge 0.03").waitFor();
    await page.locator("article.run a.mono").click();
    await page.getByRole("complementary").getByText("How the charge was computed").waitFor();
    await page.goBack();
    await page.getByAltText("Image 1: a fox").waitFor();
    expect(await page.evaluate("document.querySelector('figure img').naturalWidth")).toBeGreaterThan(0);
    expect(await page.getByLabel("Prompt").inputValue()).toBe("a fox");
    expect(await titles(page)).toEqual(["1.png"]);

    providers().emulator.faults.add({ latencyMs: 1_000, times: 1 });
    await make(page, "a slow fox");
    await page.getByText("waiting for the provider").waitFor();
    await page.getByRole("link", { name: "Prices" }).click();
    await page.getByRole("heading", { name: "Calculator" }).waitFor();
    await expect.poll(() => records.length).toBe(2);
    await page.getByRole("link", { name: "Try", exact: true }).click();
    await page.getByAltText("Image 1: a slow fox").waitFor();
    await expect.poll(() => page.getByText("Charge 0.03").count()).toBe(2);
    expect(complaints).toEqual([]);
  });

  it("says that a key is wrong which no header could hold, and what came if it is not the studio", async () => {
    const { page, complaints } = await open({ studio: {} });

    await page.getByLabel("API key").fill("“ключ”");
    await page.getByRole("button", { name: "Use key" }).click();
    await page.getByText("The API key is wrong, or was revoked.").waitFor();
    await page.route("**/api/models", (route) =>
      route.fulfill({ contentType: "text/html", body: "<h1>Login" }),
    );
    await page.getByLabel("API key").fill(CALLER_KEY);
    await page.getByRole("button", { name: "Use key" }).click();
    await page.getByText("The server responded with something else").waitFor();
    expect(await page.getByText("The server does not respond.").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("shows the results in a narrow window, where they are below the fields", async () => {
    const { page } = await open({ context: { viewport: { width: 360, height: 640 } } });

    providers().emulator.faults.add({ latencyMs: 2_000, times: 1 });
    await page.getByText("at most 0.03").waitFor();
    await make(page, "a fox");

    const y = async () => (await page.locator("canvas.placeholder").boundingBox())?.y ?? Infinity;
    await expect.poll(y, { timeout: 1_500 }).toBeLessThan(320);
    await page.getByAltText("Image 1: a fox").waitFor();
  });

  it("moves reference images by keyboard without losing the focus", async () => {
    const { page } = await open();
    const files = await Promise.all(
      [1, 2, 3].map(async (seed) => ({
        name: `${seed}.png`,
        mimeType: "image/png",
        buffer: await drawPng(seed),
      })),
    );

    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.setInputFiles("input[type=file]", files);
    await page.getByAltText("Reference image 3").waitFor();
    await page.getByRole("button", { name: "Move image 1 later" }).focus();
    for (let step = 0; step < 3; step++) await page.keyboard.press("Enter");

    expect(await titles(page)).toEqual(["2.png", "3.png", "1.png"]);
    expect(await page.locator(":focus").getAttribute("aria-label")).toBe("Move image 3 later");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".references img").count()).toBe(2);
    expect(await page.locator(":focus").textContent()).toBe("Choose files");
  });

  it("the copied curl and TypeScript make the images, without and with references", async () => {
    const { page, records } = await open();
    const folder = mkdtempSync(join(tmpdir(), "calotype-code-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
    const picture = await drawPng(7);
    writeFileSync(join(folder, "reference-1.png"), picture);

    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByLabel("Prompt").fill(`it's "a fox" at $HOME, \`now\` \\ 狐狸`);
    await page.getByLabel("Aspect").selectOption("16:9");
    await page.getByText("More fields").click();
    await page.getByLabel("Further fields, as JSON").fill('{"watermark": false, "seed": 7}');
    await page.getByText("As code").click();
    for (const operation of ["generate", "edit"] as const) {
      if (operation === "edit") {
        await page.setInputFiles("input[type=file]", {
          name: "1.png",
          mimeType: "image/png",
          buffer: picture,
        });
        await page.getByText(/reference-1\.png/).waitFor();
      }
      for (const kind of ["curl", "TypeScript"] as const) {
        await page.getByRole("button", { name: kind, exact: true }).click();
        const code = (await page.locator("pre.code").textContent()) ?? "";
        const count = records.length;
        const { status, output } = await run(kind, code, folder);

        expect(status, `${code}\n${output}`).toBe(0);
        expect(output).toContain("http");
        await expect.poll(() => records.length).toBe(count + 1);
        expect(records.at(-1)).toMatchObject({ operation, images: 1, status: 200 });
      }
    }
    const prompts = providers().emulator.requests.map(({ body }) => JSON.stringify(body));
    for (const sent of prompts)
      expect(sent).toContain(JSON.stringify(`it's "a fox" at $HOME, \`now\` \\ 狐狸`).slice(1, -1));
  });
});

function titles(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(
    "Array.from(document.querySelectorAll('.references img'), (image) => image.title)",
  );
}

describe.runIf(opened !== undefined)("Try with slow images in Chromium", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 500 });

  it("shows each image when it arrives, stops, and still finds the charge", async () => {
    if (opened === undefined) throw new Error("The browser is not open.");
    const { page, records, complaints } = await openStudioPage(opened, providers(), {
      studio: { caller: "tester" },
    });

    await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
    await page.getByLabel("Images", { exact: true }).selectOption("6");
    await make(page, "six foxes");
    await page.locator("figure img").nth(1).waitFor();
    expect(await page.locator(".run [role=status]").first().textContent()).toMatch(
      /image [23] of 6 has arrived/,
    );
    expect(await page.locator("canvas.placeholder").count()).toBeGreaterThan(0);
    await shoot(page, "try-arriving");
    await page.getByRole("button", { name: "Stop" }).click();

    await page.getByText("Stopped. If the provider had begun").waitFor();
    expect(await page.locator("figure img").count()).toBeLessThan(6);
    expect(await page.locator("canvas.placeholder").count()).toBe(0);
    await page.getByText(/Charge 0\.\d+/).waitFor();
    expect(records).toHaveLength(1);
    expect(await page.locator("article.run").count()).toBe(1);
    expect(complaints).toEqual([]);
  });
});

async function make(page: Page, prompt: string): Promise<void> {
  await page.getByLabel("Prompt").fill(prompt);
  await page.getByRole("button", { name: "Make images" }).click();
}

/** A ledger that shows a record only after `release`. */
function createLateLedger(): { readonly ledger: Ledger; readonly release: () => void } {
  const ledger = createMemoryLedger();
  const { history } = ledger;
  let isReleased = false;
  if (history === undefined) throw new Error("The ledger keeps no records.");
  const late = {
    ...ledger,
    history: { ...history, find: async (id: string) => (isReleased ? history.find(id) : undefined) },
  };
  return { ledger: late, release: () => (isReleased = true) };
}

/** Runs the code of a person who has pasted it into a terminal, or into a file. */
async function run(
  kind: "curl" | "TypeScript",
  code: string,
  folder: string,
): Promise<{ readonly status: number | null; readonly output: string }> {
  const args =
    kind === "curl"
      ? (["bash", ["-c", code]] as const)
      : ([process.execPath, ["--input-type=module-typescript", "-e", code]] as const);
  const child = spawn(args[0], [...args[1]], {
    cwd: folder,
    env: { ...process.env, CALOTYPE_API_KEY: CALLER_KEY, NODE_NO_WARNINGS: "1" },
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { status: child.exitCode, output: output + (child.exitCode === 0 ? "" : errors) };
}
