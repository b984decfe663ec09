import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../support/workspace.js";
import { renderTable, writeLines } from "../support/written-table.js";
import type { SuiteCounts } from "./results.js";
import { RULES_OFF } from "./rules-off.js";
import { FORMATS, PACKAGES, readMcpScenarios, SERVERS, type Suite } from "./suites.js";

const PAGE = "docs/suites.md";

const renderCounts = (counts: SuiteCounts): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString("en")} ${name}`)
    .join(", ");

function renderSuites(suites: readonly Suite[]): readonly string[] {
  const rows = suites.map(({ name, from, checks, test, needs, counts }) => [
    `[${name}](../${test})`,
    from,
    checks,
    renderCounts(counts()),
    `${test.includes("/full/") ? "`npm run test:full`" : "`npm test`"}${needs === undefined ? "" : `; needs ${needs}`}`,
  ]);
  return renderTable(["Suite", "From", "What it checks", "Result", "Runs in"], rows);
}

/** A row for each reason, with all that it is the reason for. */
function renderReasons(
  head: readonly [string, string],
  reasons: readonly (readonly [string, string])[],
): readonly string[] {
  const byReason = Map.groupBy(reasons, ([, reason]) => reason);
  return renderTable(
    head,
    [...byReason].map(([reason, of]) => [of.map(([name]) => `\`${name}\``).join(", "), reason]),
  );
}

it("docs/suites.md shows every suite with its stored counts, and what is left out with its reason", async () => {
  const missing = [...FORMATS, ...SERVERS, ...PACKAGES].filter(({ test }) => !existsSync(join(ROOT, test)));
  expect(missing.map(({ test }) => test)).toEqual([]);

  const { text, path } = writeLines(PAGE, [
    "## Formats and protocols\n",
    ...renderSuites(FORMATS),
    "\n## Servers and clients\n",
    ...renderSuites(SERVERS),
    "\n## Packages\n",
    ...renderSuites(PACKAGES),
    "\n## Rules that are off\n",
    "Spectral and IBM's ruleset check the OpenAPI document without these rules:\n",
    ...renderReasons(["Rules", "Why"], Object.entries(RULES_OFF)),
    "\n## Scenarios that do not apply\n",
    "These scenarios of MCP's suite are for servers that have more than tools:\n",
    ...renderReasons(
      ["Scenarios", "Why"],
      Object.entries(readMcpScenarios()).filter(([, result]) => result !== "passes"),
    ),
  ]);
  await expect(text).toMatchFileSnapshot(path);
});
