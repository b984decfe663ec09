import type { ReferencePicture } from "../pictures/recipe.js";
import type { ProviderCall } from "../provider.js";
import type { Services } from "../services.js";
import { readMessageContent } from "./message-content.js";
import { findDashscopeModel } from "./models.js";
import { type Parameters, readParameters } from "./parameters.js";
import { checkReferenceCount, readReferences } from "./references.js";
import { dashscopeRefusal, invalidParameter } from "./refusals.js";
import { chooseSize } from "./size.js";

/** A request with every default applied and every rule kept. */
export interface DashscopeRequest extends Parameters {
  /** As it was sent. */
  readonly model: string;
  readonly prompt: string;
  readonly size: { readonly width: number; readonly height: number };
  readonly references: readonly ReferencePicture[];
}

export async function readDashscopeRequest(
  call: ProviderCall,
  services: Services,
): Promise<DashscopeRequest> {
  const { body, request } = call;
  if (request.headers.get("x-dashscope-async") === "enable") {
    throw dashscopeRefusal("AccessDenied", "current user api does not support asynchronous calls.");
  }
  if (typeof body.model !== "string" || body.model === "") throw invalidParameter("");
  const model = findDashscopeModel(body.model);
  if (model === undefined) throw dashscopeRefusal("ModelNotFound");
  const { prompt, images } = readMessageContent(body.input);
  checkReferenceCount(images.length, model);
  const parameters = readParameters(body.parameters, model);
  chooseSize(parameters.size, model.size, []); // before any reference is downloaded
  if (prompt.includes("DataInspectionFailed")) {
    throw dashscopeRefusal("DataInspectionFailed", "Input data may contain inappropriate content.");
  }
  const references = await readReferences(images, call, services);
  const size = chooseSize(parameters.size, model.size, references);
  return { ...parameters, model: body.model, prompt, size, references };
}
