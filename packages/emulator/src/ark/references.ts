import { sideRatioOf } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { BadReference, type ReferenceProblem } from "../references/bad-reference.js";
import type { LoadedReference } from "../references/decode-image.js";
import { downloadFor } from "../references/download.js";
import { loadReference, type ReferenceRules } from "../references/load-reference.js";
import type { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { arkRefusal, invalidParameter } from "./errors.js";
import type { ArkModel } from "./models.js";

const maxBytes = 30 * 1024 * 1024;
const maxPixels = 36_000_000;
/** Both sides must be larger. */
const tooShortSide = 14;
const maxSideRatio = 16;

/** Reads the field `image`: the references are downloaded or decoded, and measured. */
export async function readReferences(
  image: unknown,
  { model, call, services }: { model: ArkModel; call: ProviderCall; services: Services },
): Promise<LoadedReference[]> {
  const sources = listSources(image);
  const { maxReferences } = model;
  if (sources.length > maxReferences) {
    const limit = `at most ${maxReferences} reference images are supported`;
    throw invalidParameter("image", `${limit}, got ${sources.length}`);
  }
  const rules: ReferenceRules = {
    maxBytes,
    needsLowerCaseMediaType: true,
    otherSchemes: [],
    download: downloadFor(call, services),
  };
  return Promise.all(sources.map((source) => readOne(source, rules)));
}

function listSources(image: unknown): string[] {
  if (image === undefined || image === null) return [];
  const list: unknown[] = Array.isArray(image) ? image : [image];
  return list.map((source) => {
    if (typeof source !== "string") throw invalidParameter("image", "expected a string or a list of strings");
    return source;
  });
}

async function readOne(source: string, rules: ReferenceRules): Promise<LoadedReference> {
  try {
    const reference = await loadReference(source, rules);
    checkMeasures(reference);
    return reference;
  } catch (error) {
    if (error instanceof BadReference) throw refusalFor(error.problem);
    throw error;
  }
}

function checkMeasures(reference: LoadedReference): void {
  const { width, height } = reference;
  if (Math.min(width, height) <= tooShortSide) {
    throw invalidParameter(
      "image",
      `the width and height of the image must be larger than ${tooShortSide} pixels`,
    );
  }
  if (sideRatioOf(reference) > maxSideRatio) {
    throw invalidParameter("image", "the aspect ratio of the image must be between 1/16 and 16");
  }
  if (width * height > maxPixels) {
    throw invalidParameter("image", `the image must not have more than ${maxPixels} pixels`);
  }
}

function refusalFor(problem: ReferenceProblem): Refusal {
  switch (problem) {
    case "empty":
      return arkRefusal("InvalidImageURL.EmptyURL", undefined, "image");
    case "not-a-link":
    case "broken-base64":
    case "not-an-image":
      return arkRefusal("InvalidImageURL.InvalidFormat", undefined, "image");
    case "too-large":
      return invalidParameter("image", "the size of the image must not exceed 30 MB");
    case "unreachable":
      return invalidParameter("image", "failed to download the image");
  }
}
