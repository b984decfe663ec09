import { expect, it } from "vitest";
import { MANIFESTS } from "../support/packed-project.js";
import { readText } from "../support/workspace.js";

const page = readText("docs/supported-versions.md");

/** The first version of a range such as `13 and newer`. */
const oldest = (range = ""): string => range.replace(" and newer", "");

/** The cells of the rows under a heading. */
function rowsUnder(heading: string): string[][] {
  const [, section = ""] = page.split(`## ${heading}\n`);
  const [table = ""] = section.split("\n## ");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(2).map((row) =>
    row
      .slice(2, -2)
      .split(/ (?<!\\)\| /)
      .map((cell) => cell.trim()),
  );
}

it("docs/supported-versions.md has the peer dependencies of all packages", () => {
  const expected = MANIFESTS.flatMap(({ name, peerDependencies = {}, peerDependenciesMeta = {} }) =>
    Object.entries(peerDependencies).map(([peer, range]) => [
      `\`${name}\``,
      `\`${peer}\`${peerDependenciesMeta[peer]?.optional === true ? " (optional)" : ""}`,
      `\`${range.replaceAll("|", "\\|")}\``,
    ]),
  );

  expect(expected.length).toBeGreaterThan(5);
  expect(rowsUnder("Frameworks and clients")).toEqual(expected);
});

it("docs/supported-versions.md has the Node of all packages", () => {
  const versions = new Map(rowsUnder("Runtimes and TypeScript").map(([what, range]) => [what, range]));
  const libraries = MANIFESTS.filter(({ name }) => name !== "create-calotype");
  expect(new Set(libraries.map(({ engines }) => engines?.node))).toEqual(new Set([">=22.19"]));
  expect(versions.get("Node.js")).toBe("22.19 and newer");
});

it("docs/supported-versions.md names the versions that the tests use", () => {
  const versions = new Map(rowsUnder("Runtimes and TypeScript").map(([what, range]) => [what, range]));
  const { devDependencies } = JSON.parse(readText("packages/conformance/package.json"));
  const { optionalDependencies } = JSON.parse(readText("packages/runtimes/package.json"));

  expect(devDependencies["typescript5-6"]).toContain(`typescript@${oldest(versions.get("TypeScript"))}.`);
  expect(optionalDependencies["node22-linux-x64"]).toContain(`@${oldest(versions.get("Node.js"))}.`);
  expect(optionalDependencies["@oven/bun-linux-x64"]).toContain(`${oldest(versions.get("Bun"))}.`);
  expect(readText("packages/postgres/src/migrate.ts")).toContain(
    `const OLDEST_SERVER = ${oldest(versions.get("PostgreSQL"))};`,
  );
  expect(readText("packages/redis/README.md")).toContain(
    `Redis ${versions.get("Redis")?.replace(" and", " or")}`,
  );
});
