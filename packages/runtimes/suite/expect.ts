import assert from "node:assert/strict";

/** Fails unless `actual` has every field of `expected` with the same value. A RegExp matches strings. */
export function expectMatch(actual: unknown, expected: unknown, path = "response"): void {
  if (expected instanceof RegExp) {
    assert.ok(expected.test(String(actual)), `${path} is ${print(actual)}, not like ${String(expected)}`);
  } else if (isObject(expected)) {
    assert.ok(isObject(actual), `${path} is ${print(actual)}`);
    if (Array.isArray(expected)) expectMatch(read(actual, "length"), expected.length, `${path}.length`);
    for (const [key, value] of Object.entries(expected))
      expectMatch(read(actual, key), value, `${path}.${key}`);
  } else {
    assert.ok(Object.is(actual, expected), `${path} is ${print(actual)}, not ${print(expected)}`);
  }
}

/** The value at a path of keys and indexes, or `undefined`. */
export function read(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) ? Reflect.get(at, key) : undefined), value);
}

/** Waits for a value. Rejects after `ms`. */
export async function waitFor<T>(what: string, find: () => T | undefined, ms = 5_000): Promise<T> {
  for (let waited = 0; waited < ms; waited += 20) {
    const found = find();
    if (found !== undefined) return found;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  throw new Error(`${what} did not arrive within ${ms} ms.`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function print(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 300);
}
