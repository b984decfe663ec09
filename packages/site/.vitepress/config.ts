import { type DefaultTheme, defineConfig } from "vitepress";
import { rewriteLinks, slugify } from "../src/markdown.ts";
import { createSidebars } from "../src/navigation.ts";
import { addressOf, listOtherMarkdown, ROOT } from "../src/pages.ts";
import { readBuild } from "../src/version.ts";

const FOLDER = `${import.meta.dirname}/..`;

const { root, base, folder, label } = readBuild(process.env);

const english: DefaultTheme.Config = {
  nav: [
    { text: "Quick start", link: "/quick-start/", activeMatch: "^/quick-start/" },
    { text: "Providers", link: "/families/", activeMatch: "^/families/" },
    { text: "Recipes", link: "/recipes/", activeMatch: "^/recipes/" },
    { text: "Troubleshooting", link: "/troubleshooting" },
    {
      text: "Reference",
      activeMatch: "^/(reference|packages|examples|errors|decisions)",
      items: [
        { text: "Options", link: "/configuration" },
        { text: "API", link: "/reference/" },
        { text: "Errors", link: "/errors/" },
        { text: "Packages and examples", link: "/packages/core" },
        { text: "Decisions", link: "/decisions/" },
        { text: "Changelog", link: "/changelog" },
      ],
    },
  ],
  outline: { level: [2, 3] },
};

const chinese: DefaultTheme.Config = {
  nav: [
    { text: "快速开始", link: "/zh/quick-start" },
    { text: "服务商", link: "/zh/families/" },
    { text: "English docs", link: "/introduction" },
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
    quote: "链接可能已经改变。",
    linkLabel: "回到首页",
    linkText: "回到首页",
  },
};

/**
 * The words of a text, for the search: Chinese is cut into words by the browser's own rules. VitePress sends the source
 * of this function to the browser, so it uses nothing outside itself.
 */
function tokenize(text: string): string[] {
  const segmenter = new Intl.Segmenter("zh", { granularity: "word" });
  return text
    .split(/[\s\p{P}\p{S}]+/u)
    .flatMap((part) =>
      /\p{Script=Han}/u.test(part) ? [...segmenter.segment(part)].map(({ segment }) => segment) : [part],
    )
    .concat(text.match(/\w+_\w+/g) ?? []);
}

const search: DefaultTheme.Config["search"] = {
  provider: "local",
  options: {
    miniSearch: { options: { tokenize } },
    locales: {
      zh: {
        translations: {
          button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
          modal: {
            displayDetails: "显示详情",
            resetButtonTitle: "清除",
            backButtonTitle: "关闭",
            noResultsText: "没有结果",
            footer: { selectText: "选择", navigateText: "移动", closeText: "关闭" },
          },
        },
      },
    },
  },
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
  themeConfig: { sidebar: createSidebars(), search, i18nRouting: false },
  markdown: {
    anchor: { slugify },
    theme: { light: "github-light", dark: "github-dark" },
    config: rewriteLinks,
  },
  vite: {
    publicDir: `${FOLDER}/public`,
    define: { DOCS_VERSION: JSON.stringify(label), DOCS_ROOT: JSON.stringify(root) },
    build: { chunkSizeWarningLimit: 4000 },
  },
});
