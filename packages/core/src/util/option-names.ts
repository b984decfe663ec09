/**
 * Checks the options of a function that others call from JavaScript too: a misspelled name is an error and not a default.
 *
 * @param of the name of the function
 * @param names the name of every option. The compiler reports one that is left out.
 * @throws TypeError
 */
export function checkOptionNames<T extends object>(
  of: string,
  options: T,
  names: Readonly<Record<keyof T, true>>,
): void {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${of} needs an object of options.`);
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(names, name));
  if (unknown.length === 0) return;
  const known = Object.keys(names).join(", ");
  throw new TypeError(`${of} has no option ${unknown.join(", ")}. Its options are ${known}.`);
}
