import type { Part } from "./part.ts";
import { requests } from "./parts/requests.ts";

/** All parts, in the order of docs/hardening.md. */
export const PARTS: readonly Part[] = [requests];

/** @throws RangeError if there is no part of this name */
export function findPart(name: string): Part {
  const part = PARTS.find((other) => other.name === name);
  if (part !== undefined) return part;
  throw new RangeError(`No part ${name}. Parts: ${PARTS.map((other) => other.name).join(", ")}`);
}
