// The sidebar as a tree of pages, in English and in Chinese. The title of a page is its first heading.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf, listPages, ROOT } from "./pages.ts";
import { listEntryPoints } from "./reference.ts";

/** A group of the sidebar: its title, and its pages by their addresses without `.md`, or by groups. */
type Group = readonly [title: string, entries: readonly Entry[]];
type Entry = string | Group;

const MAIN: readonly Group[] = [
  [
    "Getting started",
    [
      "introduction",
      "install",
      "quick-start/index",
      "your-users",
      "how-it-works",
      "words",
      [
        "Quick start by framework",
        [
          "quick-start/express",
          "quick-start/koa",
          "quick-start/next",
          "quick-start/fastify",
          "quick-start/nestjs",
          "quick-start/hono",
          "quick-start/node",
          "quick-start/bun",
          "quick-start/deno",
          "quick-start/workers",
          "quick-start/lambda",
        ],
      ],
      "examples/index",
      "comparison",
      "faq",
      "troubleshooting",
      "questions",
    ],
  ],
  [
    "Guides",
    [
      "configuration",
      "streaming",
      "tasks",
      "webhooks",
      ["Images", ["results", "s3", "stored-images", "several-images", "base64", "marks"]],
      "hooks",
      "composing",
      "mcp",
      "chat-completions",
      "gemini-endpoint",
      "cors",
      "testing",
      [
        "Keys and limits",
        ["keys-and-limits", "signed-in-users", "callers", "keys", "limits", "budgets", "idempotency-keys"],
      ],
      ["Prices", ["pricing", "price-rules", "usage-record", "changing-prices", "costs"]],
      [
        "The ledger",
        [
          "ledger",
          "ledger-command",
          "usage-reports",
          "holds",
          "sqlite",
          "report-sources",
          "settlement",
          "own-ledger",
        ],
      ],
      ["Frameworks", ["adapters/express", "adapters/koa", "adapters/next", "adapters/node", "adapters/web"]],
    ],
  ],
  [
    "Providers",
    [
      "families/index",
      "families/seedream",
      "families/qwen-image",
      "families/openai",
      [
        "Services with OpenAI's API",
        [
          "families/openai/azure",
          "families/openai/xai",
          "families/openai/openrouter",
          "families/openai/together",
          "families/openai/siliconflow",
          "families/openai/zhipu",
          "families/openai/vllm",
          "families/openai/localai",
          "families/openai/relay",
          "families/openai/minimax",
          "families/openai/recraft",
          "families/openai/mai",
          "families/openai/ideogram",
          "families/openai/tokenhub",
        ],
      ],
      "families/gemini",
      "families/bfl",
      "families/fal",
      "families/replicate",
      "channels",
      "keys-that-expire",
      "models",
      "sizes",
      "families/adding-a-family",
    ],
  ],
  [
    "Clients",
    [
      "clients/index",
      "client",
      "react",
      "clients/openai",
      "clients/ai-sdk",
      "clients/langchain",
      "clients/open-webui",
      "clients/librechat",
      "clients/lobehub",
      "clients/dify",
      "clients/n8n",
      "clients/litellm",
      "clients/comfyui",
      "openapi",
      "model-list",
      "dashscope-endpoint",
    ],
  ],
  [
    "Operating",
    [
      "deployment",
      "security",
      "studio",
      "monitoring",
      "telemetry",
      "choosing-stores",
      "postgres",
      "redis",
      "shutdown",
      "sizing",
      "performance",
      "hardening",
      "suites",
      "migration",
    ],
  ],
  [
    "Recipes",
    [
      "recipes/index",
      "recipes/storage",
      "recipes/moderation",
      "recipes/stripe",
      "recipes/openmeter",
      "recipes/clickhouse",
      "recipes/nats",
      "recipes/kubernetes",
      "recipes/cloudflare",
      "recipes/lambda",
      "recipes/several-regions",
      "recipes/moving-a-caller",
    ],
  ],
  [
    "Reference",
    [
      "reference/index",
      "errors/index",
      "errors/codes",
      "supported-versions",
      "versioning",
      "decisions/index",
      "changelog",
      "contributing",
    ],
  ],
];

const CHINESE: readonly Group[] = [
  ["开始", ["zh/introduction", "zh/install", "zh/quick-start", "zh/your-users"]],
  [
    "服务商",
    [
      "zh/families/index",
      "zh/families/seedream",
      "zh/families/qwen-image",
      "zh/families/openai",
      "zh/families/gemini",
    ],
  ],
];

/** An item of the sidebar, as VitePress takes it. */
export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: SidebarItem[];
}

/**
 * The sidebars by the beginning of the address.
 *
 * @throws Error if an entry is no page
 */
export function createSidebars(): Record<string, SidebarItem[]> {
  const titles = readTitles();
  const toItem = (entry: Entry): SidebarItem => {
    if (typeof entry !== "string") return { text: entry[0], collapsed: true, items: entry[1].map(toItem) };
    const text = titles.get(entry)?.replace(/^Quick start with /, "");
    if (text === undefined) throw new Error(`The sidebar names a page that does not exist: ${entry}`);
    return { text, link: `/${entry.replace(/(^|\/)index$/, "$1")}` };
  };
  const toTop = ([text, entries]: Group): SidebarItem => ({ text, items: entries.map(toItem) });
  const main = MAIN.map(([text, entries]) => toItem([text, entries]));
  return {
    "/": main,
    "/reference/": [toTop(["API reference", listReference()])],
    "/packages/": [toTop(["Packages", under("packages/")]), toTop(["Examples", under("examples/")])],
    "/examples/": [toTop(["Examples", under("examples/")]), toTop(["Packages", under("packages/")])],
    "/errors/": [toTop(["Errors", ["errors/index", "errors/codes"]]), toTop(["By code", listErrors()])],
    "/decisions/": [toTop(["Decisions", ["decisions/index", ...under("decisions/0")]])],
    "/zh/": CHINESE.map(toTop),
  };
}

/** Titles in the sidebar that are not the first heading. */
const OTHER_TITLES: Readonly<Record<string, string>> = {
  introduction: "Introduction",
  questions: "All pages by question",
  "reference/index": "API reference",
  "zh/introduction": "介绍",
};

/** Pages that are in no sidebar: the two home pages. */
export const WITHOUT_SIDEBAR = ["index", "zh/index"];

/** The title of each page by its address without `.md`. The pages of the API reference need not be written yet. */
export function readTitles(): ReadonlyMap<string, string> {
  const titles = new Map<string, string>();
  for (const { page, name } of listEntryPoints()) titles.set(`reference/${page}`, name);
  for (const [file, address] of listPages()) {
    const [, heading = address] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
    titles.set(address.replace(/\.md$/, ""), heading.replaceAll("`", ""));
  }
  for (const [address, title] of Object.entries(OTHER_TITLES)) titles.set(address, title);
  return titles;
}

function under(prefix: string): string[] {
  return [...listPages().values()]
    .map((address) => address.replace(/\.md$/, ""))
    .filter((address) => address.startsWith(prefix))
    .toSorted();
}

/** The codes in the order of the alphabet. */
function listErrors(): string[] {
  const files = globSync("docs/errors/*.md", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));
  const addresses = files.map((file) => addressOf(file).replace(/\.md$/, ""));
  return addresses.filter((address) => address !== "errors/codes").toSorted();
}

function listReference(): string[] {
  return ["reference/index", ...listEntryPoints().map(({ page }) => `reference/${page}`)];
}
