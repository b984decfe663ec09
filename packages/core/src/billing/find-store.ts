/**
 * Returns a store that a ledger keeps as a member. `undefined` if the ledger has none, or something else under this name: a ledger
 * of an operator's own may have such a member for its own purposes.
 *
 * @param methods the methods without which the store could not be used
 */
export function findStore<Store>(
  ledger: object,
  member: string,
  methods: readonly (keyof Store & string)[],
): Store | undefined {
  const store: unknown = Reflect.get(ledger, member);
  return hasMethods<Store>(store, methods) ? store : undefined;
}

function hasMethods<Store>(value: unknown, methods: readonly string[]): value is Store {
  if (typeof value !== "object" || value === null) return false;
  return methods.every((name) => typeof Reflect.get(value, name) === "function");
}
