/** Whether this is an error that Redis answered with one of these codes. */
export function isReplyError(error: unknown, ...codes: readonly string[]): boolean {
  const [code] = error instanceof Error ? error.message.split(" ", 1) : [];
  return code !== undefined && codes.includes(code);
}
