/** The keys of a store in Redis. Those of a caller carry one hash tag, so that a cluster has them on one node. */
export interface KeyNames {
  window(caller: string, key: string): string;
  place(caller: string, key: string): string;
  claim(caller: string, key: string): string;
  /** Written to find out whether Redis is back. */
  probe(caller: string): string;
  /** Written to find out whether cooldowns can be. */
  readonly cooldownProbe: string;
  /** Of all callers. */
  readonly cooldowns: string;
}

/** What Redis would read as the end of a tag or lose as UTF-8, and the sign that stands for it. */
const UNSAFE = /[{}%]|\p{Surrogate}/gu;
/** Finds out faster that nothing is. */
const MAYBE_UNSAFE = /[{}%\ud800-\udfff]/;

/** Keys that begin with the prefix, which must hold no braces. */
export function createKeyNames(prefix: string): KeyNames {
  const name = (caller: string, kind: string, key: string): string =>
    `${prefix}{${toTag(caller)}}:${kind}:${toSafeText(key)}`;
  return {
    window: (caller, key) => name(caller, "window", key),
    place: (caller, key) => name(caller, "places", key),
    claim: (caller, key) => name(caller, "claim", key),
    probe: (caller) => `${prefix}{${toTag(caller)}}:probe`,
    cooldownProbe: `${prefix}{cooldowns}:probe`,
    cooldowns: `${prefix}{cooldowns}`,
  };
}

/** A text of its own for each text, with no braces and nothing that is not UTF-8. */
export function toSafeText(text: string): string {
  if (!MAYBE_UNSAFE.test(text)) return text;
  return text.replaceAll(UNSAFE, (sign) => `%${sign.charCodeAt(0).toString(16)};`);
}

/** An empty tag is none: Redis would spread the keys. */
function toTag(caller: string): string {
  return caller === "" ? "%" : toSafeText(caller);
}
