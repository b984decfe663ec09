// `npm run docs` and `npm run docs:build`: writes the API reference, then serves or builds the site.
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, createServer } from "vitepress";
import { checkLinks } from "./check-links.ts";
import { writeMarkdown } from "./llms.ts";
import { writeReference } from "./reference.ts";
import { readBuild, VERSIONS } from "./version.ts";

const SITE = join(import.meta.dirname, "..");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { release: { type: "string" }, root: { type: "string" }, port: { type: "string" } },
});
// The configuration of VitePress reads them.
if (values.release !== undefined) process.env["DOCS_RELEASE"] = values.release;
if (values.root !== undefined) process.env["DOCS_ROOT"] = values.root;

const startedAt = performance.now();
await writeReference();
if (positionals[0] === "build") await buildSite();
else await serveSite();

async function buildSite(): Promise<void> {
  const target = readBuild(process.env);
  const { base, folder } = target;
  const out = join(SITE, "dist", folder);
  rmSync(out, { recursive: true, force: true });
  await build(SITE);
  if (folder === "") copyFileSync(VERSIONS, join(out, "versions.json"));
  writeMarkdown(out, target);
  const { pages, links, dead } = checkLinks(out, base);
  for (const { page, href } of dead) process.stderr.write(`Dead link in ${page}: ${href}\n`);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const counts = `${pages} pages, ${links} links, ${dead.length} of them dead`;
  process.stdout.write(`Built packages/site/dist/${folder} in ${seconds} s: ${counts}.\n`);
  if (dead.length > 0) process.exitCode = 1;
}

async function serveSite(): Promise<void> {
  const server = await createServer(SITE, { port: Number(values.port ?? 5173) });
  await server.listen();
  server.printUrls();
}
