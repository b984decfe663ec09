import { GatewayError, invalidRequest } from "../errors.js";
import type { ModelLimits } from "../families/model-limits.js";
import type { ImageRequest } from "../image-request.js";
import type { JsonObject } from "../json.js";
import type { Channel } from "../routing/channel.js";
import { findModelLimits, type ModelOptions } from "../routing/resolve-model.js";
import { createSeriesMap, isSeries } from "../series.js";
import { TEST_PICTURE } from "./test-picture.js";

/** What `gateway.test` sends, where the default will not do. */
export interface ChannelProbeOptions {
  /**
   * A service model. Default: the first name in `models` that the channel serves; one that needs no
   * reference image comes before one that does.
   */
  readonly model?: string | undefined;
  /** Fields as a client sends them. Default: a short prompt, and a picture where the model needs one. */
  readonly fields?: JsonObject | undefined;
}

const PROMPT = "A white circle on a black ground.";

/**
 * A small request for one picture, as a client of the channel's would send it.
 *
 * @throws GatewayError `model_not_found` when the channel does not serve the model,
 * `invalid_request_error` when none can be chosen, or for wrong fields
 */
export function createTestRequest(
  channel: Channel,
  models: Readonly<Record<string, ModelOptions>>,
  { model, fields }: ChannelProbeOptions,
): ImageRequest {
  const { family } = channel;
  const table = createSeriesMap(models);
  const isServed = (name: string): boolean =>
    table.find(name)?.value.family === family.name && channel.toUpstreamModel(name) !== undefined;
  const limitsOf = (name: string): ModelLimits | undefined =>
    findModelLimits(table.find(name)?.value.limits, name, family);

  const served = Object.keys(models).filter((name) => !isSeries(name) && isServed(name));
  const name = model ?? served.find((other) => !needsPicture(limitsOf(other))) ?? served[0];
  if (name === undefined) {
    throw invalidRequest(`Name the model: the channel ${channel.id} serves series only.`, "model");
  }
  if (!isServed(name)) {
    throw new GatewayError("model_not_found", `The channel ${channel.id} does not serve the model ${name}.`, {
      param: "model",
    });
  }
  const limits = limitsOf(name);
  const picture = needsPicture(limits) ? { image: TEST_PICTURE } : {};
  const [operation = "generate"] = family.operations.has("generate") ? [] : family.operations;
  return family.normalize(fields ?? { prompt: PROMPT, ...picture }, {
    operation,
    model: name,
    limits,
    defaultResponseFormat: undefined,
  });
}

function needsPicture(limits: ModelLimits | undefined): boolean {
  return (limits?.references?.min ?? 0) > 0;
}
