/** A value that can be made anew while it is in use. */
export interface Reloadable<T> {
  /** `undefined` until it was made for the first time. */
  readonly current: T | undefined;
  /** The value; made now where no making has succeeded. */
  get(): Promise<T>;
  /** Makes it anew. Where that fails the value stays; of several at once the last one counts. */
  reload(): Promise<void>;
}

/**
 * @param first the value, or its first making, which may fail
 * @param onTaken called with each value that is in use from now on, the first included
 */
export function createReloadable<T>(
  first: T | Promise<T>,
  make: () => Promise<T>,
  onTaken: (value: T) => void = () => {},
): Reloadable<T> {
  let current: T | undefined;
  let making: Promise<T> | undefined;
  let makings = 0;
  let taken = 0;

  const take = async (made: Promise<T>): Promise<T> => {
    const number = ++makings;
    const value = await made;
    if (number > taken) {
      taken = number;
      current = value;
      onTaken(value);
    }
    return value;
  };

  const begin = (made: Promise<T>): Promise<T> => {
    const own = take(made).finally(() => {
      if (making === own) making = undefined;
    });
    making = own;
    // Whoever asks for the value is told.
    own.catch(() => undefined);
    return own;
  };

  if (first instanceof Promise) void begin(first);
  else {
    current = first;
    onTaken(first);
  }

  return {
    get current() {
      return current;
    },
    async get() {
      return current ?? (await (making ?? begin(make())));
    },
    async reload() {
      await begin(make());
    },
  };
}
