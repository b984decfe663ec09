import {
  applyImageCount,
  checkSize,
  qwenImage,
  seedream,
  toJsonBody,
  toReferenceImage,
} from "@calotype/core/families";
import { createFunctionPart, type FunctionCheck } from "../function-part.ts";
import {
  createCountCheck,
  createReferenceCheck,
  createRequestCheck,
  createSizeCheck,
  createUploadCheck,
  type FamilyFunctions,
} from "./families/request-checks.ts";
import { createEventsCheck, createFailureCheck, createSuccessCheck } from "./families/response-checks.ts";

export function createFamilyChecks(functions: FamilyFunctions): readonly FunctionCheck[] {
  return [
    createRequestCheck(functions.families),
    createSuccessCheck(functions.families),
    createFailureCheck(functions.families),
    createEventsCheck(functions.families),
    createCountCheck(functions),
    createUploadCheck(functions),
    createSizeCheck(functions),
    createReferenceCheck(functions),
  ];
}

/** The family adapters alone. */
export const familyAdapters = createFunctionPart(
  {
    name: "families",
    guarantees:
      "Calls the adapters of both families, the rules for `n`, sizes and reference images, and `toJsonBody` with fields " +
      "and provider bodies that are valid or changed in structure, types, numbers and strings. A request is forwarded as a model of the interface " +
      "says, whatever the order of its fields, or refused with a 400 that names the field; what is forwarded, sent as a " +
      "request itself, stays the same. Images, errors, counts and failures of responses and events equal those of a " +
      "model, buffered or streamed. No function changes its input. An input is one set of fields, one body, one list of " +
      "events or one list of uploads.",
    weight: 1,
  },
  createFamilyChecks({
    families: { seedream, "qwen-image": qwenImage },
    applyImageCount,
    toJsonBody,
    checkSize,
    toReferenceImage,
  }),
);
