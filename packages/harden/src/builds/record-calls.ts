import { createHash } from "node:crypto";

/** Gets each call as text. An error that it returns is the rejection of the call. */
export type NoteCall = (call: string) => Error | undefined;

/** Returns an object whose methods, also those of the objects in it, note their calls with all arguments before they run. */
export function recordCalls<T extends object>(name: string, target: T, note: NoteCall): T {
  const members = Object.entries(target).map(([key, member]: [string, unknown]) => {
    const path = `${name}.${key}`;
    if (typeof member === "object" && member !== null) return [key, recordCalls(path, member, note)];
    if (typeof member !== "function") return [key, member];
    const recorded = (...args: unknown[]): unknown => {
      const failure = note(`${path}(${args.map(describe).join(", ")})`);
      // A watcher returns its end and not a promise, so it cannot reject.
      const isWatcher = args.some((argument) => typeof argument === "function");
      return failure === undefined || isWatcher
        ? Reflect.apply(member, target, args)
        : Promise.reject(failure);
    };
    return [key, recorded];
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same members as those of the target.
  return Object.fromEntries(members) as T;
}

/** JSON in which functions, bytes and errors can be seen. The order of the members of an object does not matter to a store. */
export function describe(value: unknown): string {
  return JSON.stringify(toPlain(value)) ?? "undefined";
}

function toPlain(value: unknown): unknown {
  if (typeof value === "function") return "<function>";
  if (typeof value === "string") return value.startsWith("{") ? toPlainString(value) : value;
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(toPlain);
  if (value instanceof AbortSignal) return "<signal>";
  if (value instanceof Uint8Array) return describeBytes(Buffer.from(value));
  if (Symbol.asyncIterator in value) return "<body>";
  const members: Record<string, unknown> = { ...toOwnMembers(value) };
  const sorted = Object.keys(members).toSorted();
  return Object.fromEntries(sorted.map((name) => [name, toPlain(members[name])]));
}

/** The name and the message of an error are not among its enumerable members. */
function toOwnMembers(value: object): object {
  if (!(value instanceof Error)) return value;
  const { name, message } = value;
  return { name, message, ...Object.fromEntries(Object.entries(value)) };
}

/** JSON in a string, such as the request of a task. */
function toPlainString(value: string): unknown {
  try {
    return { json: toPlain(JSON.parse(value)) };
  } catch {
    return value;
  }
}

/** Random ids, boundaries of forms, and signatures of links. */
export const RANDOM =
  /\b(?:task_)?(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|(?<=signature=)[\w-]{43}/g;

/** The length of bytes, and the hash of what is not random in them. */
export function describeBytes(bytes: Buffer): string {
  const lasting = bytes.toString("latin1").replaceAll(RANDOM, "");
  return `<${bytes.length} bytes ${createHash("sha256").update(lasting, "latin1").digest("hex").slice(0, 16)}>`;
}
