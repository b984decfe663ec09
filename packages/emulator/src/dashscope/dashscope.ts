import { jsonResponse } from "../http/responses.js";
import type { Provider } from "../provider.js";
import { type Random, randomHex } from "../random.js";
import {
  dashscopeCodeForStatus,
  dashscopeRefusal,
  invalidParameter,
  renderDashscopeRefusal,
} from "./errors.js";
import { generate } from "./generation.js";

/** Alibaba Cloud Model Studio (DashScope) with the Qwen-Image models. */
export const dashscope: Provider = {
  name: "dashscope",
  basePath: "/api/v1/",
  generationPath: "/api/v1/services/aigc/multimodal-generation/generation",
  costTimeHeader: "req-cost-time",
  wrongKey: () => dashscopeRefusal("InvalidApiKey"),
  bodyTooLarge: () => dashscopeRefusal("BadRequest.TooLarge"),
  bodyNotJson: () => invalidParameter("Required body invalid, please check the request body format."),
  createRequestId: ({ random }) => createUuid(random),
  acceptedKeys: ({ settings }) => settings.dashscopeApiKeys,
  codeForStatus: dashscopeCodeForStatus,
  renderRefusal: renderDashscopeRefusal,
  renderNotFound: (requestId) =>
    jsonResponse(
      { request_id: requestId, code: "NotFound", message: "The requested path does not exist." },
      404,
    ),
  generate,
};

function createUuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((length) => randomHex(random, length)).join("-");
}
