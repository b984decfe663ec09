import { createHash } from "node:crypto";

/**
 * Returns an object whose methods, also those of the objects in it, note their calls with all arguments before they run.
 *
 * @param note gets each call as text; what it throws is the rejection of the call
 */
export function recordCalls<T extends object>(name: string, target: T, note: (call: string) => void): T {
  const members = Object.entries(target).map(([key, member]: [string, unknown]) => {
    const path = `${name}.${key}`;
    if (typeof member === "object" && member !== null) return [key, recordCalls(path, member, note)];
    if (typeof member !== "function") return [key, member];
    const recorded = (...args: unknown[]): unknown => {
      const call = `${path}(${args.map(describe).join(", ")})`;
      // A watcher and its end are functions and not promises, so they do not fail.
      if (args.some((argument) => typeof argument === "function")) {
        note(call);
        return Reflect.apply(member, target, args);
      }
      try {
        note(call);
      } catch (error) {
        return Promise.reject(error);
      }
      return Reflect.apply(member, target, args);
    };
    return [key, recorded];
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The same members as those of the target.
  return Object.fromEntries(members) as T;
}

/** JSON in which functions, bytes and errors can be seen. */
export function describe(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === "function") return "<function>";
    if (member instanceof AbortSignal) return "<signal>";
    if (member instanceof Uint8Array) return describeBytes(member);
    if (member instanceof Error) return { ...member, name: member.name, message: member.message };
    return member;
  }) ?? "undefined";
}

/** The length and the hash of bytes. */
export function describeBytes(bytes: Uint8Array): string {
  return `<${bytes.length} bytes ${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}>`;
}
