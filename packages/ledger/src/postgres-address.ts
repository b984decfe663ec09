/** Whether an address is the URL of a PostgreSQL database. */
export const isPostgres = (address: string): boolean => /^postgres(?:ql)?:\/\//i.test(address);

/** The host and the name of a database, without the user and the password. */
export function describeAddress(url: string): string {
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: "", pathname: "" };
  return `the PostgreSQL database ${decodeURIComponent(pathname.slice(1)) || "(default)"} at ${host || "its default host"}`;
}
