// What search engines and previews of links get of a page: a description, its address, and whether it can be edited.
import type { HeadConfig, PageData } from "vitepress";
import { webPathOf } from "./pages.ts";

/** The pages that are written from other files, so that a change of them would be lost. */
const GENERATED = /^(?:reference|errors)\//;

/** The first paragraph of a page as plain text, cut at the end of a sentence; empty if the page has none. */
export function describePage(markdown: string): string {
  const withoutCode = markdown.replace(/^---\n[^]*?\n---\n/, "").replaceAll(/^```[^]*?^```$/gm, "");
  const paragraph =
    withoutCode.split(/\n{2,}/).find((part) => /^[^#|>*<[\s-]/.test(part) || part.startsWith("**")) ?? "";
  const text = paragraph
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*]/g, "")
    .replaceAll(/\s+/g, " ")
    .replace(/:$/, ".")
    .trim();
  let described = "";
  for (const sentence of text.split(/(?<=[.!?](?= )|。)/)) {
    if (described !== "" && (described + sentence).length > 160) break;
    described += sentence;
  }
  return described.trim();
}

/** Whether a page has a link to edit it. */
export function isEditable(address: string): boolean {
  return !GENERATED.test(address);
}

/**
 * The tags of a page. The canonical address of a page of an old version is that of the newest one, which search engines then
 * show.
 */
export function describeHead(homepage: string, page: PageData): HeadConfig[] {
  const url = `${homepage}/${webPathOf(page.relativePath)}`;
  return [
    ["link", { rel: "canonical", href: url }],
    ["meta", { property: "og:url", content: url }],
    ["meta", { property: "og:type", content: "website" }],
    ["meta", { property: "og:site_name", content: "calotype" }],
    ["meta", { property: "og:title", content: page.title || "calotype" }],
    ["meta", { property: "og:description", content: page.description }],
  ];
}
