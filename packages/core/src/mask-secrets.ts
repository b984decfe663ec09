const KEY_LIKE = /\b(?:sk|ak|ark)-[\w-]{8,}|\bBearer\s+[\w.~+/=-]{8,}/gi;

/** Shorter ones are placeholders, such as `none`, and would take words out of the text. */
const MIN_SECRET_LENGTH = 8;

/** Takes keys out of a text that is about to be shown. */
export type SecretMask = (text: string) => string;

/**
 * A mask for the given secrets wherever they stand, and for whatever looks like a key: providers
 * quote the key they refuse.
 */
export function createSecretMask(secrets: readonly string[]): SecretMask {
  // The longest first: of a key that begins with another one, no rest may stay.
  const longestFirst = secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.length - a.length);
  return (text) => {
    const masked = longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
    return masked.replace(KEY_LIKE, "***");
  };
}
