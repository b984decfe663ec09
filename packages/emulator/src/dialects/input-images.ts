import type { ProviderCall } from "../provider-call.js";
import { BadReference } from "../references/bad-reference.js";
import { decodeBase64 } from "../references/data-url.js";
import { decodeImage, type LoadedReference } from "../references/decode-image.js";
import { downloadFor } from "../references/download.js";
import { loadReference } from "../references/load-reference.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";

const maxBytes = 50 * 1024 * 1024;

interface InputOptions {
  readonly call: ProviderCall;
  readonly services: Services;
  /** The code of the refusal of an image that cannot be read. */
  readonly code: string;
  /** Whether base64 without `data:` in front of it is an image. */
  readonly takesBareBase64?: boolean;
}

/** Reads images of a request: links and data URLs, and base64 where the service takes it. */
export async function readInputImages(
  sources: readonly unknown[],
  { call, services, code, takesBareBase64 = false }: InputOptions,
): Promise<LoadedReference[]> {
  const rules = {
    maxBytes,
    needsLowerCaseMediaType: false,
    otherSchemes: [],
    download: downloadFor(call, services),
  };
  return Promise.all(
    sources.map(async (source) => {
      if (typeof source !== "string")
        throw new Refusal({ code, message: "An input image must be a string." });
      try {
        const isBare = takesBareBase64 && !/^(?:https?|data):/i.test(source);
        return isBare ? await decodeImage(decodeBase64(source)) : await loadReference(source, rules);
      } catch (error) {
        if (!(error instanceof BadReference)) throw error;
        throw new Refusal({ code, message: `An input image cannot be used: ${error.problem}.` });
      }
    }),
  );
}

/** Reads the files of a form with one of these names. */
export async function readFiles(
  { files = [] }: ProviderCall,
  names: readonly string[],
  code: string,
): Promise<LoadedReference[]> {
  const wanted = files.filter(({ name }) => names.includes(name));
  return Promise.all(
    wanted.map(async ({ name, bytes }) => {
      try {
        return await decodeImage(bytes);
      } catch (error) {
        if (!(error instanceof BadReference)) throw error;
        throw new Refusal({ code, message: `The file ${name} is not an image.` });
      }
    }),
  );
}

/** A value, or a list of values, as a list. `undefined` and `null` are no value. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? [...(value as unknown[])] : [value];
}
