/** What Redis answered, or what it holds, is not of this version: another program's, or a newer gateway's. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

/** What `read` gives; where it throws, an {@link UnreadableError} about what was read. */
export function readOrRefuse<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UnreadableError(`${what} in Redis is not of this version of @calotype/redis.`, { cause });
  }
}
