import { hash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { PUBLISHED, packAnew, pnpm } from "../../support/packed-project.js";
import { run } from "../../support/run.js";
import { ROOT } from "../../support/workspace.js";
import { expectCounts } from "../results.js";

const MINUTES = 60_000;

it("a build in another folder, with another mask of file modes and another time zone, makes the same bytes", {
  timeout: 15 * MINUTES,
}, async () => {
  const temporary = mkdtempSync(join(tmpdir(), "calotype-reproduced-"));
  onTestFinished(() => rmSync(temporary, { recursive: true, force: true }), 5 * MINUTES);
  const [first, second, copy] = ["first", "second", "a folder with a longer path"].map((name) =>
    join(temporary, name),
  );
  if (first === undefined || second === undefined || copy === undefined) throw new Error("No folders.");
  for (const folder of [first, second, copy]) mkdirSync(folder);
  for (const file of run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).split(
    "\0",
  )) {
    if (file === "") continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
  }
  const filters = PUBLISHED.map((name) => `--filter ${name}`).join(" ");
  // Without the packages that are not published, whose dependencies are most of all.
  const install = `--filter calotype-workspace ${filters} install --frozen-lockfile --prefer-offline`;
  const build = `umask 077 && export TZ=Asia/Shanghai && npx -y ${pnpm()} ${install} &&
    npx -y ${pnpm()} ${filters} run build && npx -y ${pnpm()} ${filters} pack --pack-destination ${second}`;
  run("sh", ["-c", build], copy);

  packAnew(first);

  expect(Object.keys(digest(first))).toHaveLength(PUBLISHED.length);
  expect(digest(second)).toEqual(digest(first));
  await expectCounts("reproducible-tarballs", { "tarballs have the same bytes": PUBLISHED.length });
});

/** The digests of the tarballs of a folder, by their names. */
function digest(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  return Object.fromEntries(names.map((name) => [name, hash("sha256", readFileSync(join(folder, name)))]));
}
