import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { isFull, SEED } from "@calotype/conformance/support/test-run";
import { expect, it } from "vitest";
import { drawPricedCall } from "../grammar/priced-calls.ts";
import type { Finding } from "../part.ts";
import { tryCall } from "./repricing.ts";

const PAIRS = isFull() ? 5_000 : 400;

it("repriceRecords computes what a gateway with the other prices charges, or marks an estimate", {
  timeout: 600_000,
}, async () => {
  const random = createRandom(SEED, "repricing");
  const figures = new Map<string, number>();
  const findings: Finding[] = [];
  const context = {
    begin: () => {},
    count: (figure: string, by = 1) => void figures.set(figure, (figures.get(figure) ?? 0) + by),
    report: async (finding: Finding) => void findings.push(finding),
  };
  while ((figures.get("pairs") ?? 0) < PAIRS) await tryCall(drawPricedCall(random), context);
  expect(findings, `seed ${SEED}`).toEqual([]);
  // Nearly all charges can be computed: only tokens that the provider did not report are estimated.
  expect(figures.get("estimated")).toBeLessThan(PAIRS / 10);
});
