import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { ROOT, readText } from "../support/workspace.ts";
import { type ProjectLinks, pageAddress, readProjectLinks, sourceAddress } from "./project-links.ts";

/**
 * The pages that a tarball contains beside the README, by package folder. A page belongs to the package that a reader of
 * it has installed. What is not named here is on the site only.
 */
export const PACKAGE_DOCS: Readonly<Record<string, readonly string[]>> = {
  client: ["client.md"],
  core: [
    "base64.md",
    "budgets.md",
    "callers.md",
    "changing-prices.md",
    "channels.md",
    "configuration.md",
    "cors-responses.md",
    "cors.md",
    "costs.md",
    "customer-keys.md",
    "dashscope-endpoint.md",
    "end-users.md",
    "errors.md",
    "fallback.md",
    "families/adding-a-family.md",
    "families/bfl.md",
    "families/fal.md",
    "families/gemini.md",
    "families/openai.md",
    "families/qwen-image.md",
    "families/replicate.md",
    "families/seedream.md",
    "holds.md",
    "hooks.md",
    "idempotency-keys.md",
    "images-as-they-arrive.md",
    "images-in-the-background.md",
    "keys-and-limits.md",
    "keys.md",
    "ledger.md",
    "limits.md",
    "migration.md",
    "model-list.md",
    "models.md",
    "monitoring.md",
    "openapi.md",
    "own-ledger.md",
    "price-rules.md",
    "price-tests.md",
    "pricing.md",
    "results.md",
    "settlement.md",
    "several-images.md",
    "signed-in-users.md",
    "sizes.md",
    "spending.md",
    "stored-images.md",
    "streaming.md",
    "supported-versions.md",
    "tasks.md",
    "usage-record.md",
    "usage-reports.md",
    "versioning.md",
    "webhook-receiver.md",
    "webhooks.md",
    "words.md",
  ],
  "create-calotype": [],
  emulator: [],
  express: ["adapters/express.md"],
  koa: ["adapters/koa.md"],
  ledger: ["ledger-command.md", "move-to-postgresql.md"],
  mcp: ["mcp.md", "mcp-tools.md"],
  next: ["adapters/next.md"],
  node: ["adapters/node.md", "shutdown.md"],
  opentelemetry: ["telemetry.md"],
  postgres: ["holds.md", "ledger.md", "move-to-postgresql.md", "postgres.md", "usage-reports.md"],
  react: ["client.md", "react.md"],
  redis: ["redis.md"],
  s3: ["results.md", "s3.md", "stored-images.md"],
  sqlite: ["ledger.md", "sqlite.md"],
  studio: ["studio.md"],
};

/**
 * Writes the changelog and the pages of a package into its folder, for its tarball. Git ignores them. Links to what the
 * tarball does not have become links to the site or to the repository. Several processes may do this at the same time:
 * a file that is already right is not written again.
 */
export function copyDocs(folder: string, links: ProjectLinks = readProjectLinks()): void {
  const pages = [...(PACKAGE_DOCS[basename(folder)] ?? []).map((page) => `docs/${page}`), "CHANGELOG.md"];
  const copied = new Set(pages);
  for (const old of globSync("docs/**/*.md", { cwd: join(ROOT, folder) })) {
    if (!copied.has(old.replaceAll("\\", "/"))) rmSync(join(ROOT, folder, old), { force: true });
  }
  for (const page of pages) {
    const target = join(ROOT, folder, page);
    // In a release nothing is unreleased.
    const whole = readText(page).replace(/^## Unreleased\n+(?=## )/m, "");
    const text = replaceLinks(whole, page, copied, links);
    if (existsSync(target) && readFileSync(target, "utf8") === text) continue;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

/** Replaces the relative links of a page that lead out of the tarball. */
function replaceLinks(text: string, page: string, copied: ReadonlySet<string>, links: ProjectLinks): string {
  return text.replaceAll(/\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)/g, (whole, link: string, anchor = "") => {
    const path = posix.join(posix.dirname(page), link).replace(/\/$/, "");
    if (copied.has(path)) return whole;
    const isPage = path.startsWith("docs/") && path.endsWith(".md");
    return `](${isPage ? pageAddress(path, links) : sourceAddress(path, links)}${anchor})`;
  });
}
