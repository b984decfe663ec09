import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listPages, ROOT } from "./pages.ts";
import { readBuild } from "./version.ts";

/*
 * `versions.json` says whether npm has the packages, and all pages say the same. After the first release the test fails until the
 * sentences are gone. The changelog keeps its own for 0.1.0.
 */

const SENTENCE = /\bnot (?:yet )?(?:released|published)\b|first release|还没有发布|尚未发布|第一次发布/;
/** Pages on which a reader is about to install, beside `docs/install.md`. */
const INSTALLING = [
  "README.md",
  "docs/faq.md",
  "docs/quick-start/README.md",
  "docs/troubleshooting.md",
  "docs/zh/README.md",
  "docs/zh/quick-start.md",
  "packages/create-calotype/README.md",
];
/** A link to `docs/install.md`, or to its Chinese page. */
const LINK = /\]\((?:\.\.\/|docs\/|https:[^)]*\/)?install(?:\.md)?[#)]/;
/** Pages that say what to copy. */
const COPYING = ["docs/zh/install.md", "docs/price-tests.md", "docs/examples.md", "examples/fleet/README.md"];
/** Pages that speak of releases in general, or of what a provider does not publish. */
const OTHERS =
  /^(?:docs\/(?:decisions|errors)\/|packages\/site\/README\.md|CONTRIBUTING\.md|packages\/site\/generated\/)/;

it("every page that installs the packages says whether npm has them", () => {
  const { isReleased } = readBuild({});
  const saying = [...listPages().keys()].filter((path) => {
    const text = readFileSync(join(ROOT, path), "utf8").replaceAll(/^```[^]*?^```$/gm, "");
    return !OTHERS.test(path) && SENTENCE.test(text) && /\binstall\b|安装/.test(text);
  });

  const allowed = isReleased ? [] : [...INSTALLING, ...COPYING, "docs/install.md", "CHANGELOG.md"];
  const expected = isReleased ? [] : INSTALLING;

  expect(saying.filter((path) => !allowed.includes(path))).toEqual([]);
  expect(expected.filter((path) => !saying.includes(path))).toEqual([]);
  expect(expected.filter((path) => !LINK.test(readFileSync(join(ROOT, path), "utf8")))).toEqual([]);
});
