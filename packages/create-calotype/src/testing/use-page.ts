import type { Browser } from "playwright-core";

/** What {@link usePage} found. */
export interface PageUse {
  /** The widths of the images in pixels. */
  readonly widths: readonly number[];
  /** The same, after a reload of the page. */
  readonly widthsAfterReload: readonly number[];
  /** How many requests of the page had a key. */
  readonly keys: number;
  /** How many images a new user of the same browser sees. */
  readonly imagesOfOthers: number;
}

/** What {@link usePage} finds in a page that works. */
export const WORKING_PAGE: PageUse = {
  widths: [2048, 2048],
  widthsAfterReload: [2048, 2048],
  keys: 0,
  imagesOfOthers: 0,
};

/** What a page knows of an image. The types of browsers are not in this package. */
interface PageImage {
  readonly naturalWidth: number;
  decode(): Promise<void>;
}

/** Creates an account in the page of an app, makes two images, and signs out. */
export async function usePage(url: string, browser: Browser): Promise<PageUse> {
  const page = await browser.newPage();
  let keys = 0;
  page.on("request", (request) => {
    if (request.headers()["authorization"] !== undefined) keys += 1;
  });
  const createAccount = async (email: string): Promise<void> => {
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill("correct horse");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("button", { name: "Make 4 images" }).waitFor();
  };
  const images = page.locator(".images img");
  const readWidths = async (): Promise<number[]> => {
    await page.getByText("2 images made").waitFor();
    return images.evaluateAll((all: PageImage[]) =>
      Promise.all(all.map((image) => image.decode().then(() => image.naturalWidth))),
    );
  };
  try {
    await page.goto(url);
    await createAccount("one@shop.example");
    await page.getByText("2", { exact: true }).click();
    await page.getByRole("button", { name: "Make 2 images" }).click();
    const widths = await readWidths();
    await page.reload();
    const widthsAfterReload = await readWidths();
    await page.getByRole("button", { name: "Sign out" }).click();
    await createAccount("two@shop.example");
    return { widths, widthsAfterReload, keys, imagesOfOthers: await images.count() };
  } finally {
    await page.close();
  }
}
