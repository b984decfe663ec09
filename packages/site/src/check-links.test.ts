import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { checkLinks } from "./check-links.ts";

const folder = mkdtempSync(join(tmpdir(), "calotype-site-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("finds pages, files and headings that do not exist", () => {
  const body =
    '<h2 id="here"><a href="#here"></a></h2><a href="/x/b.html#there"></a><a href="/x/c.html"></a><img src="/x/d.png">';
  writeFileSync(join(folder, "index.html"), body);
  writeFileSync(join(folder, "b.html"), '<a href="/x/#here"></a><a href="https://example.com/"></a>');

  const { pages, links, dead } = checkLinks(folder, "/x/");

  expect({ pages, links }).toEqual({ pages: 2, links: 5 });
  expect(dead.map(({ href }) => href)).toEqual(["/x/b.html#there", "/x/c.html", "/x/d.png"]);
});
