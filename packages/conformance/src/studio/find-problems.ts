import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds on the page, as `rule: element`. It runs outside of the page's policy. */
export async function findAxeProblems(page: Page): Promise<readonly string[]> {
  // An animation would be measured half transparent.
  await page.evaluate(
    "Promise.allSettled(document.getAnimations().map(({ finished }) => finished)).then(() => {})",
  );
  return page.evaluate<readonly string[]>(
    `(() => {
      if (!window.axe) { ${AXE} }
      return window.axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)));
    })()`,
  );
}

/** How many pixels of the page are beyond the right edge of the window. */
export function measureOverflow(page: Page): Promise<number> {
  return page.evaluate<number>("Math.max(0, document.documentElement.scrollWidth - window.innerWidth)");
}
