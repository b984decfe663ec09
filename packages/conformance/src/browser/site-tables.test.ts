import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { readText } from "../support/workspace.js";
import { openBrowser } from "./open-browser.js";

const opened = await openBrowser();
afterAll(() => opened?.close());

const STYLES = readText("packages/site/.vitepress/theme/style.css");

/** A table as VitePress lays it out: as a block that scrolls. */
const page = (first: string): string => `<!doctype html><style>
  body { margin: 0; font-family: sans-serif; font-size: 16px }
  table { display: block; overflow-x: auto; border-collapse: collapse }
  ${STYLES}
</style><main class="vp-doc"><table>
  <tr><td><a href="#"><code>${first}</code></a></td><td>A service on the web with a long description, and
  <code>import { openai } from "@calotype/core/families/openai"</code></td>
  <td>Another column with many words that all want to be read on a telephone</td></tr>
</table></main>`;

/** The box of a name in the first column. */
async function measure(first: string): Promise<{ width: number; height: number }> {
  const context = await opened?.browser.newContext({ viewport: { width: 390, height: 844 } });
  if (context === undefined) throw new Error("The browser is not open.");
  onTestFinished(() => context.close());
  const tab = await context.newPage();
  await tab.setContent(page(first));
  const box = await tab.locator("td:first-child code").boundingBox();
  return { width: box?.width ?? 0, height: box?.height ?? 0 };
}

describe.runIf(opened !== undefined)("the first column of a table of the site, on a phone", () => {
  it("does not break a short name", async () => {
    expect((await measure("seedream")).height).toBeLessThan(30);
  });

  it("breaks a long name, so that the second column is seen", async () => {
    const { width, height } = await measure("bodyLimits.maxTotalBytesOfAllRequestsTogether");

    expect(width).toBeLessThan(200);
    expect(height).toBeGreaterThan(30);
  });
});
