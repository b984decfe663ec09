const KEY_LIKE = /\b(?:sk|ak|ark)-[\w-]{8,}|\bBearer\s+[\w.~+/=-]{8,}/gi;

/** Takes keys out of a text that is about to be shown. */
export type SecretMask = (text: string) => string;

/**
 * A mask for the given secrets wherever they stand, and for whatever looks like a key: providers
 * quote the key they refuse.
 */
export function createSecretMask(secrets: readonly string[]): SecretMask {
  return (text) => {
    const masked = secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
    return masked.replace(KEY_LIKE, "***");
  };
}
