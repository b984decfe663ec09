import { invalidRequest } from "../../errors.js";
import type { NativeEndpoint } from "../family.js";

/** The endpoint with DashScope's own structure. */
export const qwenImageEndpoint: NativeEndpoint = {
  path: "/api/v1/services/aigc/multimodal-generation/generation",
  /** Without the 400, a client with one of these headers would wait for a task or for events. */
  checkHeaders(headers) {
    if (headers.get("x-dashscope-async") !== null) {
      throw invalidRequest(
        "X-DashScope-Async is not supported: leave the header out, and wait for the response.",
      );
    }
    if (headers.get("x-dashscope-sse")?.trim().toLowerCase() === "enable") {
      throw invalidRequest(
        "X-DashScope-SSE is not supported: this endpoint offers no events. Leave the header out.",
      );
    }
  },
  /** DashScope's SDKs read these fields at the top level. */
  toErrorFields: ({ code, message }, requestId) => ({ request_id: requestId, code, message }),
};
