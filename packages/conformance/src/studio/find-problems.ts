import axe from "axe-core";
import type { Page } from "playwright-core";

/** What axe-core finds on the page, as `rule: element`. It runs outside of the page's policy. */
export async function findAxeProblems(page: Page): Promise<readonly string[]> {
  // An animation would be measured half transparent.
  await page.evaluate(
    "Promise.allSettled(document.getAnimations().map(({ finished }) => finished)).then(() => {})",
  );
  return page.evaluate<readonly string[]>(
    `(() => {
      if (!window.axe) { ${axe.source} }
      // By default axe leaves this rule of WCAG 2.2 out.
      const rules = { "target-size": { enabled: true } };
      return window.axe.run(document, { resultTypes: ["violations"], rules }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)));
    })()`,
  );
}

/** How many pixels of the page are beyond the right edge of the window. */
export function measureOverflow(page: Page): Promise<number> {
  return page.evaluate<number>("Math.max(0, document.documentElement.scrollWidth - window.innerWidth)");
}
