import { describe, expect, it } from "vitest";
import { expectRefusal, sendToRefusing, toCases } from "../../testing/send-to-refusing.js";
import { toQwenImageFailure } from "./response.js";

const CODES = toCases([
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
]);

const OURS =
  "No channel of this model is accepted by its provider at the moment. The operator has been told.";

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
    await expectRefusal("qwen-image", [status, code, kind, finalStatus], body, {
      message: kind === "credential" ? OURS : "Because.",
      upstream_request_id: "b1a2",
    });
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
