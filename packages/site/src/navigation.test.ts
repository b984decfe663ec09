import { expect, it } from "vitest";
import { createSidebars, readTitles, type SidebarItem, WITHOUT_SIDEBAR } from "./navigation.ts";

/** The addresses of a sidebar as in the list of pages. */
function addressesOf(items: readonly SidebarItem[]): string[] {
  return items.flatMap(({ link, items: inner = [] }) => [
    ...(link === undefined ? [] : [link.slice(1).replace(/(^|\/)$/, "$1index")]),
    ...addressesOf(inner),
  ]);
}

it("every page is in a sidebar", () => {
  const linked = new Set(Object.values(createSidebars()).flatMap(addressesOf));
  // The API reference is written when the site is built.
  const pages = [...readTitles().keys()].filter((address) => !address.startsWith("reference/"));
  const forgotten = pages.filter((address) => !linked.has(address) && !WITHOUT_SIDEBAR.includes(address));

  expect(pages.length).toBeGreaterThan(150);
  expect(forgotten).toEqual([]);
});
