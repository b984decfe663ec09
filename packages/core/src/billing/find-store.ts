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
  const isStore = (value: unknown): value is Store =>
    typeof value === "object" &&
    value !== null &&
    methods.every((name) => typeof Reflect.get(value, name) === "function");
  const store: unknown = Reflect.get(ledger, member);
  return isStore(store) ? store : undefined;
}
