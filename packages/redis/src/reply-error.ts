/** Before version 7, Redis wraps the error of a command within a script in one of its own. */
const OF_SCRIPT = /^ERR Error running script.*? -([A-Z]+) /;

/** Whether this is an error that Redis answered with one of these codes. */
export function isReplyError(error: unknown, ...codes: readonly string[]): boolean {
  if (!(error instanceof Error)) return false;
  const code = OF_SCRIPT.exec(error.message)?.[1] ?? error.message.split(" ", 1)[0];
  return code !== undefined && codes.includes(code);
}
