import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { Version } from "@cyclonedx/cyclonedx-library/Spec";
import { JsonStrictValidator } from "@cyclonedx/cyclonedx-library/Validation";
import { describe, expect, it } from "vitest";
import { expectCounts } from "../suites/results.js";
import { PUBLISHED_FOLDERS } from "../support/packed-project.js";
import { ROOT } from "../support/workspace.js";
import { createBill, renderBill } from "./bill-of-materials.js";
import { listBundled } from "./bundled-packages.js";
import { listInstalled } from "./installed-packages.js";

const validator = new JsonStrictValidator(Version.v1dot6);

/** What is bundled, by the folder of the package. A new one needs a licence that asks for no more than to keep its text. */
const BUNDLED: Readonly<Record<string, readonly string[]>> = {
  core: ["zod"],
  studio: [
    "@base-ui/react",
    "@base-ui/utils",
    "@floating-ui/utils",
    "@fontsource-variable/figtree",
    "@preact/compat",
    "d3-array",
    "d3-color",
    "d3-format",
    "d3-interpolate",
    "d3-path",
    "d3-scale",
    "d3-shape",
    "lucide",
    "preact",
    "use-sync-external-store",
  ],
};

const nameOf = ({ group, name }: { readonly group?: string; readonly name: string }): string =>
  group === undefined ? name : `${group}/${name}`;

describe("the bill of materials", () => {
  it.each(PUBLISHED_FOLDERS)(
    "of %s names what is bundled, in the tarball, and what npm installs with it",
    async (folder) => {
      const bundled = createBill(folder, "bundled");
      const installed = createBill(folder, "installed");

      expect(await validator.validate(renderBill(bundled))).toBeNull();
      expect(await validator.validate(renderBill(installed))).toBeNull();
      expect(bundled.components.map(nameOf)).toEqual(BUNDLED[basename(folder)] ?? []);
      const names = [...listInstalled(join(ROOT, folder)).values()].map(({ manifest }) => manifest.name);
      const [own, ...others] = names;
      expect(nameOf(installed.metadata.component)).toBe(own);
      expect(new Set(installed.components.map(nameOf))).toEqual(
        new Set([...others, ...bundled.components.map(nameOf)]),
      );
      // Ours are not in the lock file, and a part of a package has another hash.
      const unhashed = installed.components.filter(({ hashes }) => hashes === undefined).map(nameOf);
      expect(unhashed.filter((name) => !name.startsWith("@calotype/"))).toEqual(
        bundled.components.map(nameOf),
      );
    },
  );

  it("is refused by the validator if a component has no name", async () => {
    const bill = renderBill(createBill("packages/core", "bundled"));

    expect(await validator.validate(bill.replace('"name": "zod"', '"title": "zod"'))).not.toBeNull();
  });

  it("are as many as docs/suites.md says", async () => {
    const bundled = PUBLISHED_FOLDERS.flatMap(listBundled);

    expect(bundled.map(({ name }) => name)).toContain("zod");
    await expectCounts("software-bills", {
      "bills are valid": PUBLISHED_FOLDERS.length,
      "bundled packages": bundled.length,
    });
  });
});

it.each(PUBLISHED_FOLDERS)(
  "nothing that npm installs with %s runs a script at its installation",
  (folder) => {
    const found = [...listInstalled(join(ROOT, folder)).values()];
    const scripts = found.flatMap((installed) =>
      ["preinstall", "install", "postinstall"]
        .filter((name) => installed.manifest.scripts?.[name] !== undefined)
        .map((name) => `${installed.manifest.name}: ${name}`),
    );
    // npm builds such a package, without a script of it.
    const built = found.filter((installed) => existsSync(join(installed.folder, "binding.gyp")));

    expect(found.length).toBeGreaterThan(0);
    expect([...scripts, ...built.map(({ manifest }) => `${manifest.name}: binding.gyp`)]).toEqual([]);
  },
);
