import { describe, expect, it } from "vitest";
import { sendToRefusing } from "../../testing/send-to-refusing.js";
import type { FailureScope, UpstreamFailureKind } from "../../types.js";
import { toQwenImageFailure } from "./response.js";

/** The provider's status and code, what kind of failure it is, and the status that the client sees in the end. */
type Row = readonly [number, string, UpstreamFailureKind, number, FailureScope | undefined];

const rows: readonly (readonly [number, string, UpstreamFailureKind, number, FailureScope?])[] = [
  [400, "InvalidParameter", "content", 400],
  [400, "InvalidParameter.DataInspection", "content", 400],
  [400, "DataInspectionFailed", "content", 400],
  [400, "InvalidURL", "content", 400],
  [400, "BadRequest.EmptyInput", "content", 400],
  [400, "Arrearage", "credential", 401],
  [401, "InvalidApiKey", "credential", 401],
  [403, "AccessDenied", "credential", 401],
  [403, "AccessDenied.Unpurchased", "credential", 401, "model"],
  [403, "Model.AccessDenied", "credential", 401, "model"],
  [403, "AllocationQuota.FreeTierOnly", "credential", 401, "model"],
  [404, "ModelNotFound", "model", 404],
  [408, "RequestTimeOut", "server", 502],
  [413, "BadRequest.TooLarge", "content", 413],
  [415, "BadRequest.InputDownloadFailed", "content", 415],
  [415, "BadRequest.UnsupportedFileFormat", "content", 415],
  [429, "Throttling", "rate", 429],
  [429, "Throttling.RateQuota", "rate", 429, "model"],
  [429, "Throttling.AllocationQuota", "rate", 429, "model"],
  [429, "LimitRequests", "rate", 429, "model"],
  [429, "PrepaidBillOverdue", "quota", 429],
  [429, "PostpaidBillOverdue", "quota", 429],
  [429, "CommodityNotPurchased", "quota", 429],
  [500, "InternalError", "server", 502],
  [500, "InternalError.Timeout", "server", 502],
  [500, "SystemError", "server", 502],
  [503, "ModelUnavailable", "overload", 502],
];

const CODES = rows.map(
  ([status, code, kind, finalStatus, scope]): Row => [status, code, kind, finalStatus, scope],
);

const AGAIN: ReadonlySet<UpstreamFailureKind> = new Set(["credential", "model", "rate", "quota", "overload"]);
const OURS =
  "No channel of this model is accepted by its provider at the moment. The operator has been told.";
const REPEATABLE: ReadonlySet<UpstreamFailureKind> = new Set(["content", "model", "rate", "overload"]);

describe("an error of DashScope", () => {
  it.each(CODES)("%i %s is of kind %s and gets %i", async (status, code, kind, finalStatus, scope) => {
    const body = { request_id: "b1a2", code, message: "Because." };
    expect(toQwenImageFailure(status, body)).toEqual({
      kind,
      scope,
      code,
      message: "Because.",
      requestId: "b1a2",
    });
    expect(await sendToRefusing("qwen-image", { status, body }, true)).toMatchObject({
      status: finalStatus,
      recordedStatus: finalStatus,
      charge: "0",
      triedSecond: AGAIN.has(kind),
      shouldRetry: REPEATABLE.has(kind) ? null : "false",
      retryAfter: kind === "rate" ? "5" : null,
      error: {
        code: kind === "credential" ? "upstream_authentication_failed" : code,
        message: kind === "credential" ? OURS : "Because.",
        upstream_request_id: "b1a2",
      },
    });
    const elsewhere = await sendToRefusing("qwen-image", { status, body }, false);
    expect(elsewhere.status).toBe(AGAIN.has(kind) ? 200 : finalStatus);
  });

  it.each([
    [{ code: 5, message: [], request_id: {} }],
    [{ error: { code: "x" } }],
    [{}],
    ["<html>"],
    [""],
    [null],
  ])("in the shape %j does no harm", async (body) => {
    expect(await sendToRefusing("qwen-image", { status: 400, body }, true)).toMatchObject({
      status: 400,
      error: { code: "invalid_request_error", message: "The provider refused the request.", param: null },
    });
  });
});
