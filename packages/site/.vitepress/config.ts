import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DefaultTheme, defineConfig } from "vitepress";
import { describeHead, describePage, isEditable } from "../src/describe-page.ts";
import { createFromClone } from "../src/from-clone.ts";
import { readFigures } from "../src/home/figures.ts";
import { addCommandTabs, leaveOutEmptyHeaders, rewriteLinks, slugify } from "../src/markdown.ts";
import { createSidebars } from "../src/navigation.ts";
import { addressOf, listOtherMarkdown, ROOT, readProject } from "../src/pages.ts";
import { searchData } from "../src/search/search-data.ts";
import { readBuild } from "../src/version.ts";

const FOLDER = `${import.meta.dirname}/..`;

const { root, base, folder, label, version, isReleased, revision } = readBuild(process.env);
const { homepage, repository } = readProject();

/** What makes an app: with npm, or until the first release in a clone. */
const CREATE = isReleased ? "npm create calotype my-app" : createFromClone("", version);

/** Pages with a table that needs the place of the outline. */
const WIDE: ReadonlySet<string> = new Set(["comparison.md"]);

/** Pages of old versions are not edited. */
const editLink = (text: string): Pick<DefaultTheme.Config, "editLink"> =>
  folder === "" ? { editLink: { pattern: `${repository}/edit/main/:path`, text } } : {};

const english: DefaultTheme.Config = {
  nav: [
    { text: "Quick start", link: "/quick-start/", activeMatch: "^/quick-start/" },
    { text: "Guides", link: "/keys-and-limits" },
    { text: "Providers", link: "/families/", activeMatch: "^/families/" },
    { text: "Recipes", link: "/recipes/", activeMatch: "^/recipes/" },
    {
      text: "Reference",
      activeMatch: "^/(configuration|reference|packages|examples|errors|decisions|changelog)",
      items: [
        { text: "Options", link: "/configuration" },
        { text: "API", link: "/reference/" },
        { text: "Errors", link: "/errors/" },
        { text: "Troubleshooting", link: "/troubleshooting" },
        { text: "Packages", link: "/packages/core" },
        { text: "Examples", link: "/examples/" },
        { text: "Decisions", link: "/decisions/" },
        { text: "Changelog", link: "/changelog" },
      ],
    },
  ],
  outline: { level: [2, 3] },
  notFound: {
    title: "There is no page here",
    quote: "The page may have another address now. Search for it, or begin at the home page.",
    linkLabel: "To the home page",
    linkText: "To the home page",
  },
  ...editLink("Edit this page"),
};

const chinese: DefaultTheme.Config = {
  nav: [
    { text: "快速开始", link: "/zh/quick-start" },
    { text: "指南", link: "/zh/keys-and-limits" },
    { text: "服务商", link: "/zh/families/" },
    { text: "英文文档", link: "/introduction" },
  ],
  outline: { level: [2, 3], label: "本页内容" },
  docFooter: { prev: "上一页", next: "下一页" },
  darkModeSwitchLabel: "外观",
  lightModeSwitchTitle: "切换到浅色",
  darkModeSwitchTitle: "切换到深色",
  sidebarMenuLabel: "目录",
  returnToTopLabel: "回到顶部",
  langMenuLabel: "语言",
  skipToContentLabel: "跳到正文",
  notFound: {
    title: "没有这个页面",
    quote: "页面的地址可能变了。请搜索，或从首页开始。",
    linkLabel: "回到首页",
    linkText: "回到首页",
  },
  ...editLink("编辑此页"),
};

export default defineConfig({
  title: "calotype",
  description: "An image-generation gateway that runs inside your own TypeScript server",
  base,
  srcDir: ROOT,
  srcExclude: listOtherMarkdown(),
  outDir: `${FOLDER}/dist/${folder}`,
  cacheDir: `${FOLDER}/node_modules/.cache`,
  rewrites: addressOf,
  // Links to the reader's own machine, as in the README of an example, are not checked. All others are.
  ignoreDeadLinks: "localhostLinks",
  lastUpdated: false,
  metaChunk: true,
  // The READMEs on npm link to pages without `.html`.
  cleanUrls: true,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${base}favicon.svg` }]],
  ...(folder === "" ? { sitemap: { hostname: `${homepage}/` } } : {}),
  transformPageData(page) {
    const description = describePage(readFileSync(join(ROOT, page.filePath), "utf8"));
    if (page.frontmatter["layout"] !== "home" && description !== "") page.description = description;
    if (WIDE.has(page.relativePath)) page.frontmatter["aside"] = false;
    if (!isEditable(page.relativePath)) page.frontmatter["editLink"] = false;
  },
  transformHead: ({ pageData }) => (pageData.isNotFound === true ? [] : describeHead(homepage, pageData)),
  locales: {
    root: { label: "English", lang: "en", themeConfig: english },
    zh: {
      label: "简体中文",
      lang: "zh-CN",
      description: "嵌入你的 TypeScript 服务器的图像生成网关",
      themeConfig: chinese,
    },
  },
  // The pages of one language are not all in the other: its menu leads to the home page.
  themeConfig: { sidebar: createSidebars(), i18nRouting: false },
  markdown: {
    anchor: { slugify },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      rewriteLinks(md, revision);
      addCommandTabs(md, { base, version, isReleased });
      leaveOutEmptyHeaders(md);
    },
  },
  vite: {
    plugins: [searchData()],
    publicDir: `${FOLDER}/public`,
    define: {
      DOCS_VERSION: JSON.stringify(label),
      DOCS_ROOT: JSON.stringify(root),
      DOCS_IS_RELEASED: String(isReleased),
      DOCS_CREATE: JSON.stringify(CREATE),
      HOME_FIGURES: JSON.stringify(readFigures()),
    },
    build: { chunkSizeWarningLimit: 4000 },
  },
});
