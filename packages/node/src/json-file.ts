import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findJsonError } from "./find-json-error.js";

/** Options are small. A larger file was named by mistake. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * A JSON file as an option of the gateway that can be reloaded. It is read when the gateway starts, and again at each
 * `gateway.reload()`. The gateway checks its content in the same way as the options.
 *
 * @param path a path, or a `file:` URL; a relative path starts at the current working directory
 * @returns a function that reads the file at each call. It rejects with an `Error` that names the file if the file does
 * not exist, has more than 64 MiB, or is empty, not UTF-8 or not JSON. No message contains content of the file.
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { jsonFile } from "@calotype/node";
 *
 * const gateway = createGateway({
 *   models: jsonFile("models.json"),
 *   channels: jsonFile("channels.json"),
 *   callers: jsonFile("keys.json"),
 * });
 * ```
 */
export function jsonFile<T>(path: string | URL): () => Promise<T> {
  const file = typeof path === "string" ? resolve(path) : fileURLToPath(path);
  return async () => {
    const text = await readText(file);
    if (text.trim() === "") throw new Error(`${file} is empty: it must contain JSON.`);
    try {
      const value: T = JSON.parse(text);
      return value;
    } catch {
      // Without the cause: it quotes the file, which may contain keys.
      throw new Error(`${file} is not JSON: ${describePlace(text, findJsonError(text) ?? 0)}.`);
    }
  };
}

async function readText(file: string): Promise<string> {
  const bytes = await readBytes(file);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error(`${file} is not UTF-8.`, { cause });
  }
}

async function readBytes(file: string): Promise<Uint8Array> {
  let size: number;
  try {
    ({ size } = await stat(file));
    if (size <= MAX_BYTES) return await readFile(file);
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${describeFailure(cause)}.`, { cause });
  }
  throw new Error(`${file} is too large: ${size} bytes, and at most ${MAX_BYTES} are read.`);
}

function describeFailure(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "ENOENT":
      return "there is no such file";
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
    case "EPERM":
      return "it may not be read by this process";
    default:
      return String(code ?? error);
  }
}

function describePlace(text: string, at: number): string {
  if (at === text.length) return "it ends too early";
  const lines = text.slice(0, at).split("\n");
  return `see line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
