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

/** JSON in which functions, bytes and errors can be seen. */
export function describe(value: unknown): string {
  return (
    JSON.stringify(value, (_key, member: unknown) => {
      if (typeof member === "function") return "<function>";
      if (member instanceof AbortSignal) return "<signal>";
      if (member instanceof Uint8Array) return describeBytes(Buffer.from(member));
      if (member instanceof Error) {
        const { name, message } = member;
        return { name, message, ...Object.fromEntries(Object.entries(member)) };
      }
      return member;
    }) ?? "undefined"
  );
}

/** Random ids, boundaries of forms, and signatures of links. */
export const RANDOM =
  /\b(?:task_)?(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|(?<=signature=)[\w-]{43}/g;

/** The length of bytes, and the hash of what is not random in them. */
export function describeBytes(bytes: Buffer): string {
  const lasting = bytes.toString("latin1").replaceAll(RANDOM, "");
  return `<${bytes.length} bytes ${createHash("sha256").update(lasting, "latin1").digest("hex").slice(0, 16)}>`;
}
