import { readText } from "../support/workspace.ts";

/** Where the project lives on the web. The package.json at the root is the one place that states it. */
export interface ProjectLinks {
  /** The address of the documentation site, without a slash at the end. */
  readonly homepage: string;
  readonly bugs: string;
  /** What npm checks the provenance of a release against. */
  readonly repository: { readonly type: string; readonly url: string };
}

/** The links of the package.json at the root. */
export function readProjectLinks(): ProjectLinks {
  const { homepage, bugs, repository }: ProjectLinks = JSON.parse(readText("package.json"));
  return { homepage, bugs, repository };
}

/** The fields of the links in the package.json of a published package, for a folder such as `packages/core`. */
export function manifestLinks(folder: string, { homepage, bugs, repository }: ProjectLinks): object {
  return { homepage, bugs, repository: { ...repository, directory: folder } };
}

/** The links that are placeholders: no name under `.example` can be registered. */
export function findPlaceholders({ homepage, bugs, repository }: ProjectLinks): string[] {
  return [homepage, bugs, repository.url].filter((link) =>
    new URL(link.replace(/^git\+/, "")).hostname.endsWith(".example"),
  );
}

/** The address of a source file on the web, without `/` at the end. */
export function sourceAddress(path: string, { repository }: ProjectLinks): string {
  return `${repository.url.replace(/^git\+/, "").replace(/\.git$/, "")}/tree/main/${path}`;
}

/** The address of a page of `docs` on the site: `docs/families/README.md` is `…/families/`. */
export function pageAddress(path: string, { homepage }: ProjectLinks): string {
  if (path === "docs/README.md") return `${homepage}/questions`;
  if (path === "docs/errors/README.md") return `${homepage}/errors/codes`;
  return `${homepage}/${path.slice("docs/".length).replace(/(?:README)?\.md$/, "")}`;
}
