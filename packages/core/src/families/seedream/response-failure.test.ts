import { describe, expect, it } from "vitest";
import { AGAIN, expectRefusal, sendToRefusing, toCases } from "../../testing/send-to-refusing.js";
import type { UpstreamFailureKind } from "../../types.js";
import { toSeedreamFailure } from "./response.js";

const CODES = toCases([
  [400, "MissingParameter", "content", 400],
  [400, "InvalidParameter", "content", 400],
  [400, "InvalidParameter.UnsupportedParameter", "content", 400],
  [400, "InvalidEndpoint.ClosedEndpoint", "model", 400],
  [400, "SensitiveContentDetected", "content", 400],
  [400, "InputTextSensitiveContentDetected", "content", 400],
  [400, "InputImageSensitiveContentDetected", "content", 400],
  [400, "OutputImageSensitiveContentDetected", "content", 400],
  [400, "InvalidImageURL.EmptyURL", "content", 400],
  [400, "InvalidImageURL.InvalidFormat", "content", 400],
  [401, "AuthenticationError", "credential", 401],
  [401, "InvalidAccountStatus", "credential", 401],
  [403, "AccountOverdueError", "credential", 401],
  [403, "AccessDenied", "credential", 401],
  [403, "OperationDenied.ServiceNotOpen", "credential", 401, "model"],
  [403, "OperationDenied.ServiceOverdue", "credential", 401],
  [404, "InvalidEndpointOrModel.NotFound", "model", 404],
  [404, "ModelNotOpen", "credential", 401, "model"],
  [404, "UnsupportedModel", "model", 404],
  [429, "ModelAccountIpmRateLimitExceeded", "rate", 429, "model"],
  [429, "ModelAccountRpmRateLimitExceeded", "rate", 429, "model"],
  [429, "RateLimitExceeded.EndpointRPMExceeded", "rate", 429, "model"],
  [429, "AccountRateLimitExceeded", "rate", 429],
  [429, "ServerOverloaded", "rate", 429, "channel"],
  [503, "ServerOverloaded", "overload", 502],
  [429, "RequestBurstTooFast", "rate", 429],
  [429, "QuotaExceeded", "quota", 429],
  [429, "SetLimitExceeded", "quota", 429],
  [500, "InternalServiceError", "server", 502],
  [400, "InputImageRiskDetection", "content", 400],
  [400, "OutputImageSensitiveContentDetected.PolicyViolation", "content", 400],
  [403, "InputImageSensitiveContentDetected.PrivacyInformation", "content", 403],
  [451, "InputImageDeepFake", "content", 451],
  [429, "OutputTextRiskDetection", "content", 429],
  [500, "OutputImageSensitiveContentDetected.DeepFake", "content", 400],
]);

describe("an error of Ark", () => {
  it.each(CODES)("%i %s is of kind %s and gets %i", async (status, code, kind, finalStatus, scope) => {
    const body = { error: { code, message: `Because. Request id: 0217abc`, param: "", type: "" } };
    expect(toSeedreamFailure(status, body)).toEqual({
      kind,
      scope,
      code,
      message: "Because. Request id: 0217abc",
      param: undefined,
      requestId: "0217abc",
    });
    await expectRefusal("seedream", [status, code, kind, finalStatus], body, {
      upstream_request_id: "0217abc",
      param: null,
    });
  });

  it.each<[number, unknown, UpstreamFailureKind, number]>([
    [400, "", "content", 400],
    [401, "<html>", "credential", 401],
    [402, {}, "quota", 429],
    [404, "", "model", 404],
    [410, "", "model", 410],
    [413, "<html>too large</html>", "content", 413],
    [415, null, "content", 415],
    [422, [], "content", 422],
    [429, "slow down", "rate", 429],
    [429, { error: "slow down" }, "rate", 429],
    [500, "", "server", 502],
    [501, { error: null }, "server", 502],
    [502, "<html>bad gateway</html>", "server", 502],
    [503, "busy", "overload", 502],
    [504, "", "server", 502],
    [520, "", "server", 502],
    [302, "", "server", 502],
  ])("%i with the body %j is of kind %s and gets %i", async (status, body, kind, finalStatus) => {
    expect(toSeedreamFailure(status, undefined).kind).toBe(kind);
    const outcome = await sendToRefusing("seedream", { status, body }, true);
    expect(outcome).toMatchObject({ status: finalStatus, triedSecond: AGAIN.has(kind) });
    expect(outcome.error).toMatchObject({
      message: expect.stringMatching(/\S/),
      code: expect.stringMatching(/\S/),
    });
  });

  it.each([
    [{ error: { code: 5, message: {}, param: [] } }],
    [{ error: [] }],
    [{ error: { code: "__proto__", message: "" } }],
    [{ message: "elsewhere" }],
  ])("in the shape %j does no harm", async (body) => {
    expect(await sendToRefusing("seedream", { status: 400, body }, true)).toMatchObject({ status: 400 });
  });

  it("names the field that Ark blames", async () => {
    const body = { error: { code: "InvalidParameter", message: "size", param: "size", type: "BadRequest" } };
    expect(await sendToRefusing("seedream", { status: 400, body }, true)).toMatchObject({
      error: { param: "size" },
    });
  });

  it("has the request id of the header before that of the text", async () => {
    const body = { error: { code: "InvalidParameter", message: "Request id: text" } };
    const outcome = await sendToRefusing(
      "seedream",
      { status: 400, body, headers: { "x-request-id": "header" } },
      true,
    );
    expect(outcome.error).toMatchObject({ upstream_request_id: "header" });
  });
});
