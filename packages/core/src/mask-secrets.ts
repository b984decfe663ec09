const KEY_LIKE = /\b(?:sk|ak|ark)-[\w-]{8,}|\bBearer\s+[^\s"',;]+/gi;

/**
 * Takes keys out of a text that another party wrote: the given secrets wherever they stand, and
 * whatever looks like a key. Providers quote the key they refuse.
 */
export function maskSecrets(text: string, secrets: readonly string[] = []): string {
  let masked = text;
  for (const secret of secrets) {
    if (secret !== "") masked = masked.replaceAll(secret, "***");
  }
  return masked.replace(KEY_LIKE, "***");
}
