import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pack } from "../support/packed-project.ts";
import { run } from "../support/run.ts";

/** A folder outside of the workspace with the tarball of core in its `node_modules`, and nothing else. */
export interface PriceProject {
  readonly folder: string;
  readonly write: (name: string, text: string) => void;
  readonly remove: () => void;
}

/** Packs core, and unpacks the tarball as npm would. */
export function createPriceProject(): PriceProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "calotype-prices-")));
  const [tarball = ""] = pack(folder, ["@calotype/core"]);
  const core = join(folder, "node_modules/@calotype/core");
  mkdirSync(core, { recursive: true });
  run("tar", ["-xzf", tarball, "-C", core, "--strip-components=1"], folder);
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The line of a test that loads the package as an ES module, or as CommonJS. */
export const IMPORT = `import { calculateCharge } from "@calotype/core/billing";`;
export const REQUIRE = `const { calculateCharge } = require("@calotype/core/billing");`;

/** Three images for 0.04 each. */
export const CALCULATION = `calculateCharge({
    details: { pricing_mode: "per-request", model_price: "0.04" },
    usage: { generated_images: 3 },
  }).amount`;

/** A test for jest and vitest. */
export const BODY = `test("three images", () => {
  expect(${CALCULATION}).toBe("0.12");
});
`;
