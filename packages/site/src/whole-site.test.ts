import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/* Takes 80 seconds of CPU time: only in `npm run test:full`. */

const COMMAND = join(import.meta.dirname, "command.ts");
const DIST = join(import.meta.dirname, "../dist");

it("builds without a dead link, with the reference, both languages and no resource of another host", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, "build"], { encoding: "utf8" });

  expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
  for (const page of [
    "index",
    "quick-start/index",
    "reference/core/index",
    "errors/overloaded",
    "zh/introduction",
  ]) {
    expect(existsSync(join(DIST, `${page}.html`)) || page).toBe(true);
  }
  const home = readFileSync(join(DIST, "index.html"), "utf8");
  const loaded = home.replaceAll(/<link rel="canonical"[^>]*>/g, "");
  expect([...loaded.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="https?:/g)]).toEqual([]);
  expect(home).toContain('<link rel="canonical" href="https://');
  // The pages as Markdown.
  expect(readFileSync(join(DIST, "llms.txt"), "utf8")).toContain(
    "](/quick-start/express.md): A gateway in an Express app",
  );
  expect(readFileSync(join(DIST, "llms-full.txt"), "utf8")).toContain("# Troubleshooting");
  expect(readFileSync(join(DIST, "quick-start/express.md"), "utf8")).toContain("](/adapters/express.md)");
  // A command of npm is shown for the other package managers too.
  expect(readFileSync(join(DIST, "quick-start/express.html"), "utf8")).toContain('data-title="pnpm"');
}, 600_000);

it("builds a released version beside it, whose links and search stay in that version", () => {
  const release = ownRelease();

  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, "build", "--release", release], {
    encoding: "utf8",
  });

  // The check of the links takes each link out of the version for a dead one.
  expect({ status, output: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
  const folder = join(DIST, `v${release}`);
  for (const [locale, page] of [
    ["root", "faq"],
    ["zh", "zh/quick-start"],
  ]) {
    const [index = ""] = globSync(`assets/chunks/@localSearchIndex${locale}.*.js`, { cwd: folder });
    const [, ids = ""] =
      /"documentIds":(\{.*?\})/.exec(readFileSync(join(folder, index), "utf8").replaceAll("\\", "")) ?? [];
    const found = [...ids.matchAll(/:"([^"]*)"/g)].map(([, address = ""]) => address);
    expect(found.some((address) => address.startsWith(`/v${release}/${page}#`))).toBe(true);
    expect(found.filter((address) => !address.startsWith(`/v${release}/`))).toEqual([]);
  }
}, 600_000);

/** The minor version of this checkout, such as `0.2`. */
function ownRelease(): string {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../core/package.json"), "utf8"));
  return String(version).split(".").slice(0, 2).join(".");
}
