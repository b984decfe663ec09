import type { ProviderCall } from "../provider-call.js";
import { BadReference, type ReferenceProblem } from "../references/bad-reference.js";
import type { LoadedReference } from "../references/decode-image.js";
import { downloadFor } from "../references/download.js";
import { loadReference, type ReferenceRules } from "../references/load-reference.js";
import type { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { dashscopeRefusal, invalidParameter } from "./errors.js";
import type { DashscopeModel } from "./models.js";

const usualBytes = 10 * 1024 * 1024;

export function checkReferenceCount(count: number, model: DashscopeModel): void {
  const { minReferences, maxReferences = 3 } = model;
  if (count < minReferences || count > maxReferences) {
    throw invalidParameter(`The content should contain ${minReferences} to ${maxReferences} images`);
  }
}

/** The images of the message, downloaded or decoded and measured. `oss://` is accepted without a download. */
export async function readReferences(
  images: readonly string[],
  { model, call, services }: { model: DashscopeModel; call: ProviderCall; services: Services },
): Promise<LoadedReference[]> {
  const rules: ReferenceRules = {
    maxBytes: model.maxReferenceBytes ?? usualBytes,
    needsLowerCaseMediaType: false,
    otherSchemes: ["oss:"],
    download: downloadFor(call, services),
  };
  return Promise.all(images.map((image) => readOne(image, rules)));
}

async function readOne(image: string, rules: ReferenceRules): Promise<LoadedReference> {
  try {
    return await loadReference(image, rules);
  } catch (error) {
    if (error instanceof BadReference) throw refusalFor(error.problem);
    throw error;
  }
}

function refusalFor(problem: ReferenceProblem): Refusal {
  switch (problem) {
    case "empty":
    case "not-a-link":
    case "broken-base64":
      return dashscopeRefusal("InvalidURL");
    case "not-an-image":
      return dashscopeRefusal("BadRequest.UnsupportedFileFormat");
    case "too-large":
      return dashscopeRefusal("BadRequest.TooLarge");
    case "unreachable":
      return dashscopeRefusal("InvalidParameter.DataInspection");
  }
}
