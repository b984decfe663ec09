import type { Browser } from "playwright-core";

/** What {@link usePage} found. */
export interface PageUse {
  /** How many different images the browser shows. */
  readonly shown: number;
  readonly shownAfterReload: number;
  /** How many requests of the page had a key. */
  readonly keys: number;
  /** How many images a new user of the same browser sees. */
  readonly imagesOfOthers: number;
}

/** What {@link usePage} finds in a page that works. */
export const WORKING_PAGE: PageUse = {
  shown: 2,
  shownAfterReload: 2,
  keys: 0,
  imagesOfOthers: 0,
};

/** What a page knows of an image. The types of browsers are not in this package. */
interface PageImage {
  readonly src: string;
  decode(): Promise<void>;
}

/** Creates an account in the page of an app, makes two images, and signs out. */
export async function usePage(url: string, browser: Browser): Promise<PageUse> {
  const page = await browser.newPage();
  // `next dev` compiles each path at its first request.
  page.setDefaultTimeout(90_000);
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
  const countShown = async (): Promise<number> => {
    await page.getByText("2 images made").waitFor();
    // Decoding fails for bytes that are not an image.
    const links = await images.evaluateAll((all: PageImage[]) =>
      Promise.all(all.map((image) => image.decode().then(() => image.src))),
    );
    return new Set(links).size;
  };
  try {
    await page.goto(url);
    await createAccount("one@shop.example");
    await page.getByText("Spent this month: 0. Left: 5.").waitFor();
    await page.getByText("2", { exact: true }).click();
    await page.getByRole("button", { name: "Make 2 images" }).click();
    const shown = await countShown();
    await page.getByText(/^Spent this month: [\d.]*[1-9]\. Left: [0-4]\.\d+\.$/).waitFor();
    await page.reload();
    const shownAfterReload = await countShown();
    await page.getByRole("button", { name: "Sign out" }).click();
    await createAccount("two@shop.example");
    return { shown, shownAfterReload, keys, imagesOfOthers: await images.count() };
  } finally {
    await page.close();
  }
}
