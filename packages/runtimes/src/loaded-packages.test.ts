import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

/** The packages of npm that a module of core loads on Node. */
async function findPackages(specifier: string): Promise<readonly string[]> {
  const source = `
    const loaded = [];
    const { registerHooks } = await import("node:module");
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import(${JSON.stringify(specifier)});
    console.log(JSON.stringify(loaded));`;
  const cwd = new URL("../../core/", import.meta.url);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", source], { cwd });
  const urls: readonly string[] = JSON.parse(stdout);
  const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))];
}

it("the billing calculator loads neither undici nor busboy nor any other package", async () => {
  expect(await findPackages("@calotype/core/billing")).toEqual([]);
  const ofCore = await findPackages("@calotype/core");
  expect(ofCore).toEqual(expect.arrayContaining(["undici", "busboy"]));
});
