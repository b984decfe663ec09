/** A value that can be loaded again while it is in use. */
export interface Reloadable<T> {
  /** `undefined` until it was loaded for the first time. */
  readonly current: T | undefined;
  /** Returns the value. Loads it if no load has succeeded. */
  get(): Promise<T>;
  /** Loads the value again. If that fails, the old value stays. Of several loads at once the last one begun counts. */
  reload(): Promise<void>;
}

/**
 * @param first the value, or its first load, which may fail
 * @param onChange called with each value that is used from now on, including the first
 */
export function createReloadable<T>(
  first: T | Promise<T>,
  load: () => Promise<T>,
  onChange: (value: T) => void = () => {},
): Reloadable<T> {
  let current: T | undefined;
  let loading: Promise<T> | undefined;
  let lastBegun = 0;
  let lastUsed = 0;

  const use = async (loaded: Promise<T>): Promise<T> => {
    const number = ++lastBegun;
    const value = await loaded;
    if (number > lastUsed) {
      lastUsed = number;
      current = value;
      onChange(value);
    }
    return value;
  };

  const begin = (loaded: Promise<T>): Promise<T> => {
    const own = use(loaded).finally(() => {
      if (loading === own) loading = undefined;
    });
    loading = own;
    // An error goes to those who wait for the value, and there may be none.
    own.catch(() => undefined);
    return own;
  };

  if (first instanceof Promise) void begin(first);
  else {
    current = first;
    onChange(first);
  }

  return {
    get current() {
      return current;
    },
    get: async () => current ?? (await (loading ?? begin(load()))),
    async reload() {
      await begin(load());
    },
  };
}
