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
import { cancelTask, getTask, submitTask } from "./tasks.js";

/** Alibaba Cloud Model Studio (DashScope) with the Qwen-Image and Wan models. */
export const dashscope: Provider = {
  name: "dashscope",
  basePaths: ["/api/v1/"],
  operations: [
    {
      kind: "generation",
      method: "POST",
      path: /^services\/aigc\/multimodal-generation\/generation$/,
      respond: generate,
    },
    {
      kind: "submit",
      method: "POST",
      path: /^services\/aigc\/image-generation\/generation$/,
      respond: submitTask,
    },
    { kind: "poll", method: "GET", path: /^tasks\/(?<id>[^/]+)$/, body: "none", respond: getTask },
    {
      kind: "cancel",
      method: "POST",
      path: /^tasks\/(?<id>[^/]+)\/cancel$/,
      body: "none",
      respond: cancelTask,
    },
  ],
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
  headersOf: (requestId, milliseconds) => ({
    "x-request-id": requestId,
    "req-cost-time": String(milliseconds),
  }),
};

function createUuid(random: Random): string {
  return [8, 4, 4, 4, 12].map((length) => randomHex(random, length)).join("-");
}
