import type { ReferencePicture } from "../pictures/recipe.js";
import type { ProviderCall } from "../provider.js";
import { BadReference, type ReferenceProblem } from "../references/bad-reference.js";
import { downloadFor } from "../references/download.js";
import { loadReference, type ReferenceRules } from "../references/load-reference.js";
import type { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { arkRefusal, invalidParameter } from "./refusals.js";

const maxReferences = 14;
const maxBytes = 30 * 1024 * 1024;
const maxPixels = 36_000_000;
/** Both sides must be larger. */
const tooShortSide = 14;
const widestRatio = 16;

/** The images of the field `image`, downloaded or decoded and measured. */
export async function readReferences(call: ProviderCall, services: Services): Promise<ReferencePicture[]> {
  const sources = listSources(call.body.image ?? undefined);
  if (sources.length > maxReferences) {
    throw invalidParameter(
      "image",
      `at most ${maxReferences} reference images are supported, got ${sources.length}`,
    );
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
  if (image === undefined) return [];
  const list: unknown[] = Array.isArray(image) ? image : [image];
  return list.map((source) => {
    if (typeof source !== "string") throw invalidParameter("image", "expected a string or a list of strings");
    return source;
  });
}

async function readOne(source: string, rules: ReferenceRules): Promise<ReferencePicture> {
  try {
    const reference = await loadReference(source, rules);
    checkMeasures(reference);
    return reference;
  } catch (error) {
    if (error instanceof BadReference) throw refusalFor(error.problem);
    throw error;
  }
}

function checkMeasures({ width, height }: ReferencePicture): void {
  if (Math.min(width, height) <= tooShortSide) {
    throw invalidParameter(
      "image",
      `the width and height of the image must be larger than ${tooShortSide} pixels`,
    );
  }
  if (Math.max(width / height, height / width) > widestRatio) {
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
