/** Keys of providers, keys of ours as `mintApiKey` makes them, and whatever is sent as a key. */
const KEY_LIKE = /\b(?:sk|ak|ark)-[\w-]{8,}|\bcal-[\dA-Z]{43}|\bBearer\s+[\w.~+/=-]{8,}/gi;

/** Shorter ones are placeholders, such as `none`, and would take words out of the text. */
const MIN_SECRET_LENGTH = 8;

/** Takes keys out of a text that is about to be shown. */
export type SecretMask = (text: string) => string;

/** A mask for texts of ours: takes out the given secrets, and leaves names alone that look like keys. */
export function createKeyMask(secrets: readonly string[]): SecretMask {
  // The longest first: of a key that begins with another one, no rest may stay.
  const longestFirst = secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
}

/**
 * A mask for texts of providers, who quote the key they refuse: takes out the given secrets, and
 * whatever looks like a key.
 */
export function createSecretMask(secrets: readonly string[]): SecretMask {
  const maskKeys = createKeyMask(secrets);
  return (text) => maskKeys(text).replace(KEY_LIKE, "***");
}
