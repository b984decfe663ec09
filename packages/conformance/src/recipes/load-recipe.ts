import { rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { extractFromMarkdown } from "../support/extract-code.js";
import { ROOT, readText } from "../support/workspace.js";

/**
 * Imports the code of a recipe.
 *
 * @param path of the page
 * @param file the name in the first line of the block
 * @param addresses the replacements of addresses in the code
 */
export async function loadRecipe(
  path: string,
  file: string,
  addresses: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const block = extractFromMarkdown(path, readText(path)).find(({ code }) => code.startsWith(`// ${file}`));
  if (block === undefined) throw new Error(`${path} shows no ${file}.`);
  let { code } = block;
  for (const [address, own] of Object.entries(addresses)) {
    if (!code.includes(address)) throw new Error(`${path} does not use ${address}.`);
    code = code.replace(address, own);
  }
  // Below the folder of the package, so that its dependencies are found.
  const name = `.recipe-${process.pid}-${basename(file, ".ts")}.mjs`;
  const target = `${ROOT}/packages/conformance/node_modules/${name}`;
  writeFileSync(target, transformSync(code, { loader: "ts", target: "node22" }).code);
  try {
    return await import(pathToFileURL(target).href);
  } finally {
    rmSync(target, { force: true });
  }
}
