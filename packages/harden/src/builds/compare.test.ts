import { isFull, SEED } from "@calotype/conformance/support/test-run";
import { ROOT } from "@calotype/conformance/support/workspace";
import type { GatewayOptions } from "@calotype/core";
import { expect, it } from "vitest";
import { type Builds, compareScenario, type Difference } from "./compare.ts";
import { type Build, loadBuild } from "./load-build.ts";

const SCENARIOS = isFull() ? 2_000 : 150;
const ours = await loadBuild(ROOT);

/** Compares until the first difference. */
async function findFirst(builds: Builds): Promise<(Difference & { readonly index: number }) | undefined> {
  for (let index = 0; index < SCENARIOS; index += 1) {
    const { difference } = await compareScenario(builds, SEED, index);
    if (difference !== undefined) return { index, ...difference };
  }
  return undefined;
}

/** This build with other options than those that it gets. */
function change(toOptions: (options: GatewayOptions) => GatewayOptions): Build {
  return {
    ...ours,
    createGateway: (options, dependencies) => ours.createGateway(toOptions(options), dependencies),
  };
}

it("a build does not differ from itself", { timeout: 120_000 }, async () => {
  expect(await findFirst({ ours, other: ours }), `seed ${SEED}`).toBeUndefined();
});

it.each<readonly [string, RegExp, (options: GatewayOptions) => GatewayOptions]>([
  [
    "a record with one more image",
    /"images":\d+,"model"/,
    ({ ledger, ...options }) => ({
      ...options,
      ledger: ledger && {
        ...ledger,
        settle: (record) => ledger.settle({ ...record, images: record.images + 1 }),
      },
    }),
  ],
  [
    "a store call before another one",
    /^ledger\.balance/,
    ({ ledger, ...options }) => ({
      ...options,
      ledger: ledger && {
        ...ledger,
        hold: async (hold) => (await ledger.balance(hold.caller), ledger.hold(hold)),
      },
    }),
  ],
  ["another header", /calotype-charge/, (options) => ({ ...options, showCharge: true })],
  ["another format of streams", /./, (options) => ({ ...options, streamFormat: "native" })],
])("%s is a difference", async (_name, line, toOptions) => {
  const found = await findFirst({ ours, other: change(toOptions) });

  expect(found?.other ?? found?.ours).toMatch(line);
});
