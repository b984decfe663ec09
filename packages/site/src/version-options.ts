// The entries of the menu of versions. The theme uses this in browsers, so it imports nothing of Node.

/** An entry of the menu: where it leads below the root of the site, and its text. The empty value is the version that is shown. */
export interface VersionOption {
  readonly value: string;
  readonly text: string;
}

/**
 * The entries of the menu on a page of the version `shown`: that version, the others of `released`, and the newest pages, unless
 * these are them.
 */
export function listVersionOptions(
  shown: string,
  isNewest: boolean,
  released: readonly string[],
): VersionOption[] {
  const others = released.filter((version) => version !== shown);
  return [
    { value: "", text: `v${shown}` },
    ...others.map((version) => ({ value: `v${version}/`, text: `v${version}` })),
    ...(isNewest ? [] : [{ value: ".", text: "newest" }]),
  ];
}
