import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { isFull, SEED } from "@calotype/conformance/support/test-run";
import { expect, it } from "vitest";
import type { Finding } from "../part.ts";
import { drawCall, tryCall } from "./marks.ts";

const INPUTS = isFull() ? 3_000 : 100;

it("every image is marked, delivered or withheld as the option says, and the record says which", {
  timeout: 600_000,
}, async () => {
  const random = createRandom(SEED, "marks");
  const findings: Finding[] = [];
  const context = {
    begin: () => {},
    count: () => {},
    report: async (finding: Finding) => void findings.push(finding),
  };
  for (let input = 0; input < INPUTS && findings.length < 3; input++)
    await tryCall(drawCall(random), context);
  expect(findings, `seed ${SEED}`).toEqual([]);
});
