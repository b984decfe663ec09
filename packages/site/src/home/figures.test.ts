import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../pages.ts";
import { readFigures } from "./figures.ts";

const page = (path: string): string => readFileSync(join(ROOT, path), "utf8");

it("the home page has the figures of the pages that it links to", () => {
  const { kills, comparedRequests, measured, calotypeMs, portkeyMs } = readFigures();
  const hardening = page("docs/hardening.md");
  const performance = page("docs/performance.md");
  const killed = [...hardening.matchAll(/^So far: ([\d,]+) kills/gm)].map(([, count = ""]) =>
    Number(count.replaceAll(",", "")),
  );

  expect(killed.reduce((sum, count) => sum + count, 0)).toBe(kills);
  expect(hardening).toContain(`${comparedRequests.toLocaleString("en")} requests`);
  expect(performance).toContain(`Measured on ${measured}`);
  const rows = performance.split("### 4 MB b64_json response")[1] ?? "";
  expect(/\| calotype on node \| ([\d.]+) /.exec(rows)?.[1]).toBe(calotypeMs.toFixed(1));
  expect(/\| Portkey [\d.]+ \| ([\d.]+) /.exec(rows)?.[1]).toBe(portkeyMs.toFixed(1));
});

it("the picture has four images, and the charge of its record", () => {
  const { picture } = readFigures();

  expect(picture).toMatchObject({
    images: 4,
    charge: "0.96",
    derivation: { model_price: "0.3", group_ratio: "0.8" },
  });
});
