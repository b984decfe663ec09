import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { checkOptionNames } from "@calotype/core/adapter";
import type { OptionSource } from "@calotype/core/operator";
import { findJsonError } from "./find-json-error.js";

/** Options are small. A larger file was named by mistake. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The time between two looks at a watched file. A change is read when two looks in a row have found the same file. */
const LOOK_MS = 500;

/** Options of {@link jsonFile}. */
export interface JsonFileOptions {
  /**
   * Whether the gateway reloads its options about a second after the file has changed, until it is closed. If the new options are
   * wrong, the log says why once, and the gateway keeps the ones that it has. This finds every kind of change: a file written in
   * place, a file replaced by another one, and a symbolic link that leads elsewhere, also in containers and network folders.
   * Default `false`: the file is read again at `gateway.reload()` only, such as after SIGHUP with `closeOnSignals`.
   */
  readonly watch?: boolean | undefined;
}

/** A JSON file as an option, see {@link jsonFile}. */
export interface JsonFile<T> extends OptionSource<T> {
  (): Promise<T>;
}

/**
 * A JSON file as an option of the gateway that can be reloaded. It is read when the gateway starts, again at each
 * `gateway.reload()`, and with `watch` when it has changed. The gateway checks its content in the same way as the options.
 *
 * @param path a path, or a `file:` URL; a relative path starts at the current working directory
 * @returns a function that reads the file at each call. It rejects with an `Error` that names the file if the file does
 * not exist, has more than 64 MiB, or is empty, not UTF-8 or not JSON. No message contains content of the file.
 * @throws TypeError for an unknown option
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { jsonFile } from "@calotype/node";
 *
 * const gateway = createGateway({
 *   models: jsonFile("models.json"),
 *   channels: jsonFile("channels.json"),
 *   callers: jsonFile("keys.json", { watch: true }),
 * });
 * ```
 */
export function jsonFile<T>(path: string | URL, options: JsonFileOptions = {}): JsonFile<T> {
  checkOptionNames("jsonFile", options, { watch: true });
  const file = typeof path === "string" ? resolve(path) : fileURLToPath(path);
  if (options.watch !== true) return () => readJson(file);
  let firstRead: string | undefined;
  const read = async (): Promise<T> => {
    // Before the file is read: a change in between is then found by the next look.
    firstRead ??= await findVersion(file);
    return readJson(file);
  };
  return Object.assign(read, {
    watch: (onChange: () => void) => watchFile(file, () => firstRead, onChange),
  });
}

async function readJson<T>(file: string): Promise<T> {
  const text = await readText(file);
  if (text.trim() === "") throw new Error(`${file} is empty: it must contain JSON.`);
  try {
    const value: T = JSON.parse(text);
    return value;
  } catch {
    // Without the cause: it quotes the file, which may contain keys.
    throw new Error(`${file} is not JSON: ${describePlace(text, findJsonError(text) ?? 0)}.`);
  }
}

/**
 * Calls `onChange` once for each change. Looks at the file instead of asking the operating system to tell, because its messages
 * do not cover files that are replaced, symbolic links and network folders. Does not keep the process alive.
 *
 * @param firstRead the version that was read when the gateway started; `undefined` until then
 */
function watchFile(file: string, firstRead: () => string | undefined, onChange: () => void): () => void {
  let known: string | undefined;
  let last: string | undefined;
  const look = async (): Promise<void> => {
    const version = await findVersion(file);
    known ??= firstRead();
    // A file that is being written has another version at the next look.
    const isChanged = known !== undefined && version !== known && version === last;
    last = version;
    if (isChanged) {
      known = version;
      onChange();
    }
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => (isLooking = false));
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** What differs after each change of a file. It does not reject: a file that cannot be read has a version too. */
async function findVersion(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch (error) {
    return describeFailure(error);
  }
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
