/**
 * The token of something that a ledger can do beyond the money. The feature that needs it exports the token, such as
 * `TASK_STORE`. A token has only names, so that two copies of this package find the same members.
 */
export interface LedgerAbility<Store> {
  /** The member of the ledger that has the methods. Absent: the ledger itself has them. */
  readonly member?: string;
  /** The methods by which the ability is recognized. */
  readonly methods: readonly (keyof Store & string)[];
}

/**
 * Finds an ability of a ledger. `undefined` if the ledger has none, or something else under this name: a ledger of an operator's
 * own may have such a member for its own purposes.
 */
export function findAbility<Store>(
  ledger: object,
  { member, methods }: LedgerAbility<Store>,
): Store | undefined {
  // The option may be wrong, and no object.
  const store: unknown = member === undefined ? ledger : Reflect.get(Object(ledger), member);
  const isStore = (value: unknown): value is Store => hasFunctions(value, methods);
  return isStore(store) ? store : undefined;
}

/** Whether a value is an object with these methods. */
export function hasFunctions(value: unknown, methods: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof Reflect.get(value, method) === "function")
  );
}
