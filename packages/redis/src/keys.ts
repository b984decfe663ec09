/** The names of the store's keys in Redis. The keys of one caller have one hash tag, so a cluster keeps them on one node. */
export interface KeyNames {
  window(caller: string, key: string): string;
  slots(caller: string, key: string): string;
  idempotency(caller: string, key: string): string;
  /** The places of the requests of this caller that wait. */
  line(caller: string): string;
  /** Written to find out whether Redis accepts writes for this caller. */
  probe(caller: string): string;
  /** Written to find out whether Redis accepts writes of cooldowns. */
  readonly cooldownProbe: string;
  /** The cooldowns of all callers. */
  readonly cooldowns: string;
}

/** @param prefix begins every key; must not contain braces */
export function createKeyNames(prefix: string): KeyNames {
  const name = (caller: string, kind: string, key: string): string =>
    `${prefix}{${toTag(caller)}}:${kind}:${toSafeString(key)}`;
  return {
    window: (caller, key) => name(caller, "window", key),
    // `places` and `claim` are the names of version 0.1.
    slots: (caller, key) => name(caller, "places", key),
    idempotency: (caller, key) => name(caller, "claim", key),
    line: (caller) => `${prefix}{${toTag(caller)}}:line`,
    probe: (caller) => `${prefix}{${toTag(caller)}}:probe`,
    cooldownProbe: `${prefix}{cooldowns}:probe`,
    cooldowns: `${prefix}{cooldowns}`,
  };
}

/** Characters that would end a hash tag or that UTF-8 cannot encode, and the escape character itself. */
const UNSAFE = /[{}%]|\p{Surrogate}/gu;
/** Finds out faster that a string has none of them. */
const MAYBE_UNSAFE = /[{}%\ud800-\udfff]/;

/** Returns another string for each string, without braces and with valid UTF-8. */
export function toSafeString(value: string): string {
  if (!MAYBE_UNSAFE.test(value)) return value;
  return value.replaceAll(UNSAFE, (character) => `%${character.charCodeAt(0).toString(16)};`);
}

/** Redis ignores an empty tag and would spread the keys. */
function toTag(caller: string): string {
  return caller === "" ? "%" : toSafeString(caller);
}
