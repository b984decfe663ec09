import type { Page } from "playwright-core";
import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/open-browser.js";
import { drawPng } from "../clients/support/images.js";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { openStudioPage, type StudioPage, type StudioPageOptions } from "./open-page.js";
import { shoot } from "./shoot.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

const MARKUP = '<img src=x onerror="document.title=\'ran\'"><script>document.title="ran"</script>';

describe.runIf(opened !== undefined)("the studio in Chromium", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 20 });
  const open = async (options?: StudioPageOptions): Promise<StudioPage> => {
    if (opened === undefined) throw new Error("The browser is not open.");
    return openStudioPage(opened, providers(), options);
  };

  describe("Try", () => {
    it("says why it is disabled, and makes an image with a key that the person enters", async () => {
      const { page, records, complaints } = await open();

      await page.getByText("Try needs someone who pays.").waitFor();
      await page.getByLabel("API key").fill("wrong-key");
      await page.getByRole("button", { name: "Use key" }).click();
      await page.getByText("The API key is wrong, or was revoked.").waitFor();
      await page.getByLabel("API key").fill(CALLER_KEY);
      await page.getByRole("button", { name: "Use key" }).click();
      await page.getByLabel("Prompt").fill("a fox in a library");
      await page.getByText("at most 0.03").waitFor();
      await page.keyboard.press("Control+Enter");

      await page.getByAltText("Image 1: a fox in a library").waitFor();
      await expect
        .poll(() => page.evaluate("document.querySelector('figure img').naturalWidth"))
        .toBeGreaterThan(0);
      await page.getByText("Charge 0.03").waitFor();
      await page.getByText("How this was computed").click();
      await page.getByRole("row", { name: "Images 1 0.03 0.03" }).waitFor();
      expect(records).toMatchObject([{ caller: "tester", charge: "0.03", images: 1 }]);
      await page.reload();
      await page.getByText("An API key pays.").waitFor();
      await shoot(page, "try-key");
      expect(complaints).toEqual([]);
    });

    it("shows several images as they arrive, beside those of another model, and the price of each", async () => {
      const { page, records, complaints } = await open({ studio: { caller: "tester" } });
      providers().emulator.faults.add({ latencyMs: 300, times: 1 });

      await page.getByText("The caller tester pays.").waitFor();
      await page.getByLabel("Prompt").fill("three foxes");
      await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
      await page.getByLabel("Compare with").selectOption(QWEN_IMAGE);
      await page.getByLabel("Images", { exact: true }).selectOption("3");
      await page.getByText("at most 0.09").waitFor();
      await page.getByRole("button", { name: "Make images" }).click();

      await page.getByText("waiting for the provider").first().waitFor();
      const run = page.getByRole("article", { name: SEEDREAM });
      await run.getByText("3 images", { exact: true }).waitFor();
      expect(await run.getByRole("img").count()).toBe(3);
      await run.getByText("Charge 0.09").waitFor();
      await page.getByRole("article", { name: QWEN_IMAGE }).getByText("Charge").waitFor();
      await shoot(page, "try-compare");
      expect(records.map(({ model }) => model).toSorted()).toEqual([QWEN_IMAGE, SEEDREAM].toSorted());
      expect(complaints).toEqual([]);
    });

    it("takes reference images by file, drop and paste, in an order that buttons and dragging change", async () => {
      const { page, complaints } = await open({ studio: { caller: "tester" } });
      const names = ["one.png", "two.png", "three.png"];
      const files = await Promise.all(
        names.map(async (name, index) => ({ name, mimeType: "image/png", buffer: await drawPng(index) })),
      );

      await page.getByLabel("Model", { exact: true }).selectOption(SEEDREAM);
      await page.setInputFiles("input[type=file]", files.slice(0, 1));
      await giveFile(page, "drop", files[1]);
      await page.getByAltText("Reference image 2").waitFor();
      await giveFile(page, "paste", files[2]);
      await page.getByAltText("Reference image 3").waitFor();
      await page.getByRole("button", { name: "Move image 3 earlier" }).click();
      expect(await titles(page)).toEqual(["one.png", "three.png", "two.png"]);
      await page.getByAltText("Reference image 1").dragTo(page.getByAltText("Reference image 3"));
      expect(await titles(page)).toEqual(["three.png", "two.png", "one.png"]);
      await page.getByRole("button", { name: "Remove image 2" }).click();
      await page.getByLabel("Prompt").fill("put them together");
      await page.getByText("As code").click();
      await page.getByText("-F 'image[]=@reference-2.png'").waitFor();
      await page.getByRole("button", { name: "Make images" }).click();

      await page.getByText("Charge 0.03").waitFor();
      const [sent] = providers().emulator.requests;
      expect(JSON.stringify(sent)).toContain(files[2]?.buffer.toString("base64").slice(0, 200));
      expect(complaints).toEqual([]);
    });

    it("shows an error in the words of the provider and in ours, and that nothing was charged", async () => {
      const { page, complaints } = await open({ studio: { caller: "tester" } });
      providers().emulator.faults.add({ status: 500, times: 1 });

      await page.getByLabel("Prompt").fill("a fox");
      await page.getByRole("button", { name: "Make images" }).click();

      await page.getByText("no image", { exact: true }).waitFor();
      await page.getByText("The provider failed, or its response could not be used.").waitFor();
      await page.getByText("Charge 0", { exact: true }).waitFor();
      await shoot(page, "try-failed");
      expect(complaints).toEqual([]);
    });

    it("says beside the field what is wrong before anything is sent", async () => {
      const { page } = await open({ studio: { caller: "tester" } });

      await page.getByText("More fields").click();
      await page.getByLabel("Further fields, as JSON").fill("{");
      await page.getByText("This is not a JSON object.").waitFor();
      expect(await page.getByRole("button", { name: "Make images" }).isDisabled()).toBe(true);
      // With it the images would be made and charged, and the page could not show them.
      await page.getByLabel("Further fields, as JSON").fill('{"response_format": "url"}');
      await page.getByText("Try sets response_format itself").waitFor();
      await page.getByText("The price is known when the fields are right.").waitFor();
      expect(await page.getByRole("button", { name: "Make images" }).isDisabled()).toBe(true);
      await page.getByLabel("Further fields, as JSON").fill('{"size": "1x1"}');
      await page.locator(".problem", { hasText: "size" }).waitFor();
    });

    it("stops waiting when the person wants that, and remembers prompts in this browser only", async () => {
      const { page } = await open({ studio: { caller: "tester" } });
      providers().emulator.faults.add({ latencyMs: 2_000, times: 1 });

      await page.getByLabel("Prompt").fill("a slow fox");
      await page.getByRole("button", { name: "Make images" }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped.").waitFor();
      await page.reload();
      await page.getByText("History", { exact: true }).click();
      await page.getByRole("button", { name: "a slow fox" }).click();

      expect(await page.getByLabel("Prompt").inputValue()).toBe("a slow fox");
    });
  });

  it("shows what callers and providers send as text, never as markup", async () => {
    const { page, gateway, complaints } = await open({
      studio: { caller: "tester" },
      gateway: { callers: [{ id: "tester", key: CALLER_KEY }] },
    });
    const id = MARKUP.slice(0, 60);
    await gateway.callers.create({ id });

    await page.getByLabel("Prompt").fill(MARKUP);
    await page.getByRole("button", { name: "Make images" }).click();
    await page.getByAltText(`Image 1: ${MARKUP}`).waitFor();
    await page.getByText("As code").click();
    for (const kind of ["curl", "TypeScript", "Python"]) {
      await page.getByRole("button", { name: kind, exact: true }).click();
      expect(await page.locator("pre.code").textContent()).toContain("onerror");
    }
    await page.getByRole("link", { name: "Callers" }).click();
    await page.getByRole("link", { name: id }).click();
    await page.getByRole("complementary").getByRole("heading", { name: id }).waitFor();

    expect(await page.title()).toBe("Callers · calotype studio");
    expect(await page.locator("img[onerror], main script").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("changes language and theme, and remembers both", async () => {
    const { page } = await open({ path: "/channels" });

    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Language").selectOption("zh");
    await page.getByRole("heading", { name: "渠道" }).waitFor();
    await page.getByLabel("主题").selectOption("dark");
    await page.reload();
    await page.getByRole("heading", { name: "渠道" }).waitFor();

    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
  });

  it("says that the server does not respond, and tries again", async () => {
    const { page } = await open({ path: "/channels" });
    await page.getByRole("link", { name: "ark", exact: true }).waitFor();

    await page.route("**/api/prices", (route) => route.abort());
    await page.getByRole("link", { name: "Prices" }).click();
    await page.getByText("The server does not respond.").waitFor();
    await page.unroute("**/api/prices");
    await page.getByRole("button", { name: "Try again" }).click();

    await expect.poll(() => page.getByRole("cell", { name: "0.03 per image" }).count()).toBe(1);
  });
});

function titles(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(
    "Array.from(document.querySelectorAll('.references img'), (image) => image.title)",
  );
}

/** Drops a file on the composer, or pastes it. */
function giveFile(
  page: Page,
  way: "drop" | "paste",
  file: { readonly name: string; readonly buffer: Buffer } | undefined,
): Promise<void> {
  if (file === undefined) throw new Error("There is no file.");
  const given = JSON.stringify({ name: file.name, base64: file.buffer.toString("base64"), way });
  return page.evaluate<void>(`(({ name, base64, way }) => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type: "image/png" }));
    if (way === "paste") window.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer }));
    else document.querySelector(".drop").dispatchEvent(
      new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  })(${given})`);
}
