import { expect, it } from "vitest";
import { type LinkContext, resolveHref } from "./markdown.ts";

const CONTEXT: LinkContext = {
  pages: new Map([
    ["packages/site/pages/index.md", "index.md"],
    ["docs/pricing.md", "pricing.md"],
    ["docs/families/README.md", "families/index.md"],
    ["packages/core/README.md", "packages/core.md"],
  ]),
  project: { homepage: "https://docs.example.org/calotype", repository: "https://code.example.org/calotype" },
  revision: "@calotype/core@0.2.0",
};

it.each([
  // Pages, by their files.
  ["../../docs/pricing.md#charges", "/pricing.md#charges"],
  ["../../docs/families", "/families/index.md"],
  // The READMEs of packages link to the site, because npm shows them. A page of an old version must not lead to a new one.
  ["https://docs.example.org/calotype", "/index.md"],
  ["https://docs.example.org/calotype/pricing#charges", "/pricing.md#charges"],
  ["https://docs.example.org/calotype/families/", "/families/index.md"],
  ["https://docs.example.org/calotype/packages/core", "/packages/core.md"],
  ["https://docs.example.org/calotype/no-such-page", "/no-such-page"],
  ["https://docs.example.org/calotypes", undefined],
  // Source code, at the tag of the version.
  [
    "src/gateway.ts",
    "https://code.example.org/calotype/tree/@calotype/core@0.2.0/packages/core/src/gateway.ts",
  ],
  // Everything else stays.
  ["#keys", undefined],
  ["https://example.org/", undefined],
  ["no-such-file.md", undefined],
])("%s leads to %s", (href, expected) => {
  expect(resolveHref("packages/core/README.md", href, CONTEXT)).toBe(expected);
});
