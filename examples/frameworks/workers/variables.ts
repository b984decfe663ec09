/**
 * Checks that variables of the environment are set, so that the app fails at startup and says what is missing.
 *
 * @throws Error with the names of those that are not set, and with the hint
 */
export function requireVariables(names: readonly string[], hint: string): void {
  const missing = names.filter((name) => !process.env[name]);
  if (missing.length === 0) return;
  const verb = missing.length === 1 ? "is" : "are";
  throw new Error(
    `${missing.join(", ")} ${verb} not set. Copy .env.example to .env and enter what is missing there. ${hint}`,
  );
}
