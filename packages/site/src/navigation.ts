// The sidebar as a tree of pages, in English and in Chinese. The title of a page is its first heading.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf, listPages, ROOT } from "./pages.ts";
import { listEntryPoints } from "./reference.ts";

/** A group of the sidebar: its title, and its pages by their addresses without `.md`, or by groups. */
type Group = readonly [title: string, entries: readonly Entry[]];
type Entry = string | Group;

/** The group of pages that have one task, one result and at most two screens. All others are reference, or recipes to copy. */
const GUIDES = "Guides";
const CHINESE_GUIDES = "指南";

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
    GUIDES,
    [
      ["Callers", ["keys-and-limits", "customer-keys", "budgets", "idempotency-keys", "cors"]],
      ["Money", ["pricing", "changing-prices", "prepaid", "costs", "spending"]],
      [
        "Images",
        [
          "results",
          "images-as-they-arrive",
          "images-in-the-background",
          "webhook-receiver",
          "several-images",
          "base64",
          "marks",
        ],
      ],
      ["Running it", ["fallback", "ledger", "move-to-postgresql", "sqlite", "testing", "mcp"]],
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
      "configuration",
      ["Requests", ["streaming", "tasks", "webhooks", "stored-images", "s3", "mark-rules", "cors-responses"]],
      ["Interfaces", ["chat-completions", "gemini-endpoint", "dashscope-endpoint", "mcp-tools"]],
      ["Callers", ["signed-in-users", "callers", "keys", "limits", "end-users"]],
      ["Prices", ["price-rules", "usage-record", "price-tests"]],
      [
        "The ledger",
        ["holds", "settlement", "usage-reports", "ledger-command", "report-sources", "own-ledger"],
      ],
      ["Your own code", ["hooks", "composing", "test-failures"]],
      ["Frameworks", ["adapters/express", "adapters/koa", "adapters/next", "adapters/node", "adapters/web"]],
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
  ["开始", ["zh/introduction", "zh/install", "zh/quick-start", "zh/your-users", "zh/words"]],
  [
    CHINESE_GUIDES,
    [
      "zh/keys-and-limits",
      "zh/customer-keys",
      "zh/budgets",
      "zh/prepaid",
      "zh/pricing",
      "zh/changing-prices",
      "zh/spending",
      "zh/results",
      "zh/images-as-they-arrive",
      "zh/images-in-the-background",
      "zh/webhook-receiver",
      "zh/fallback",
      "zh/ledger",
      "zh/move-to-postgresql",
    ],
  ],
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

/** The guides and quick starts of both languages, by their addresses without `.md`. */
export function listGuides(): string[] {
  const groups = [...MAIN, ...CHINESE].filter(([title]) => title === GUIDES || title === CHINESE_GUIDES);
  const flatten = (entry: Entry): string[] =>
    typeof entry === "string" ? [entry] : entry[1].flatMap(flatten);
  const first = [...readTitles().keys()].filter((page) =>
    /^(?:zh\/)?(?:quick-start\b|your-users$)/.test(page),
  );
  return [...first, ...groups.flatMap(flatten)];
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
