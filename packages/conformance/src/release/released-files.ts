/** Gives the unreleased part of the changelog the heading of a version. */
export function addHeading(changelog: string, version: string, date: Date): string {
  if (changelog.includes(`## ${version} - `)) throw new Error(`CHANGELOG.md has ${version} already.`);
  const unreleased = "## Unreleased\n";
  if (!changelog.includes(unreleased)) throw new Error("CHANGELOG.md has no unreleased part.");
  return changelog.replace(unreleased, `${unreleased}\n## ${version} - ${date.toISOString().slice(0, 10)}\n`);
}

/** Adds a version such as 0.2.0 to a JSON list of minor versions, the newest first, of which the site keeps the pages. */
export function addVersion(list: string, version: string): string {
  const versions: string[] = JSON.parse(list);
  const minor = version.split(".").slice(0, 2).join(".");
  if (versions.includes(minor)) return list;
  return `[${[minor, ...versions].map((one) => JSON.stringify(one)).join(", ")}]\n`;
}
