import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";

/** A prefix that nothing else uses. */
export function createPrefix(): string {
  return `calotype-test:${randomUUID()}:`;
}

export async function findKeys(client: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const found of client.scanStream({ match: `${prefix}*`, count: 1_000 })) keys.push(...found);
  return keys;
}

export async function removeKeys(client: Redis, prefix: string): Promise<void> {
  const keys = await findKeys(client, prefix);
  if (keys.length > 0) await client.unlink(...keys);
}
