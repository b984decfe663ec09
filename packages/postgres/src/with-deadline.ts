/** Waits for a promise until the deadline. A result after the deadline goes to `onLate`. */
export async function withDeadline<T>(
  promise: Promise<T>,
  milliseconds: number,
  onLate: (value: T) => void = () => undefined,
): Promise<T> {
  let isLate = false;
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    isLate = true;
    reject(new Error("PostgreSQL did not respond in time."));
  }, milliseconds);
  const watched = promise.then((value) => {
    if (isLate) onLate(value);
    return value;
  });
  try {
    return await Promise.race([watched, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
