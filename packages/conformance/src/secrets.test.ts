import type { Fault } from "@calotype/emulator";
import { describe, expect, it } from "vitest";
import type { Call, ReadResponse } from "./support/http-client.js";
import { jsonCall, QWEN_IMAGE_BODY, SEEDREAM_BODY } from "./support/image-calls.js";
import { sendByFetch } from "./support/send-by-fetch.js";
import { CALLER_KEY, CHANNEL_KEY, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const QUOTED = `Incorrect API key provided: ${CHANNEL_KEY}.`;
const IMAGE = Buffer.from("not an image, and private").toString("base64");

const CALLS: readonly { readonly kind: string; readonly call: Call }[] = [
  { kind: "JSON of family A", call: jsonCall(SEEDREAM_BODY) },
  { kind: "JSON of family B", call: jsonCall(QWEN_IMAGE_BODY) },
  { kind: "a stream", call: jsonCall({ ...SEEDREAM_BODY, stream: true }) },
  { kind: "a native request", call: { ...jsonCall(SEEDREAM_BODY), path: "/api/v3/images/generations" } },
];

const FAILURES: readonly { readonly failure: string; readonly fault: Fault }[] = [
  { failure: "nothing fails", fault: { latencyMs: 0 } },
  { failure: "the key is refused", fault: { wrongKey: true } },
  { failure: "a refusal of the key quotes it", fault: { status: 401, message: QUOTED } },
  { failure: "a refusal of the account quotes the key", fault: { status: 403, message: QUOTED } },
  { failure: "a refusal of the request quotes the key", fault: { status: 400, message: QUOTED } },
  { failure: "a rate limit quotes the key", fault: { status: 429, message: QUOTED } },
  { failure: "a failure of the provider quotes the key", fault: { status: 500, message: QUOTED } },
  { failure: "an overload quotes the key", fault: { status: 503, message: QUOTED } },
  {
    failure: "an image fails and the reason quotes the key",
    fault: { failImages: [{ index: 0, message: QUOTED }] },
  },
  { failure: "the response is broken", fault: { malformedJson: true } },
  { failure: "the response is empty", fault: { emptyBody: true } },
];

describe.each(CALLS)("$kind", ({ call }) => {
  const providers = useProviders();

  it.each(FAILURES)("shows no key to clients or in the log if $failure", async ({ fault }) => {
    const { gateway, records, logLines } = startGateway(providers());
    providers().emulator.faults.add(fault);

    const response = await sendByFetch(gateway, call);

    expect(providers().emulator.requests).toHaveLength(1);
    expect(textOf(response)).not.toContain(CHANNEL_KEY);
    expect(textOf(response)).not.toContain(CALLER_KEY);
    expect(`${JSON.stringify(records)}${logLines.join("\n")}`).not.toContain(CHANNEL_KEY);
    expect(`${JSON.stringify(records)}${logLines.join("\n")}`).not.toContain(CALLER_KEY);
    expect(JSON.stringify(providers().emulator.requests)).not.toContain(CALLER_KEY);
  });
});

describe("a gateway that fails", () => {
  const providers = useProviders();

  it.each([
    { what: "an unknown model", fields: { model: CALLER_KEY.toUpperCase() } },
    { what: "a wrong size", fields: { size: "1x1" } },
    { what: "a reference that is not an image", fields: { image: `data:image/png;base64,${IMAGE}` } },
    { what: "a reference of another type", fields: { image: `data:text/plain;base64,${IMAGE}` } },
    { what: "a reference that is not base64", fields: { image: `data:image/png;base64,${IMAGE}!` } },
  ])("shows neither the caller's key nor the images for $what", async ({ fields }) => {
    const { gateway, records, logLines } = startGateway(providers());

    const response = await sendByFetch(gateway, jsonCall({ ...SEEDREAM_BODY, ...fields }));

    expect(response.status).toBeGreaterThanOrEqual(400);
    const shown = [textOf(response), JSON.stringify(records), ...logLines].join("\n");
    expect(shown).not.toContain(CALLER_KEY);
    expect(shown).not.toContain(IMAGE.slice(0, 20));
  });

  it("does not log the key if the operator's own key check fails", async () => {
    const { gateway, logLines } = startGateway(providers(), {
      callers: undefined,
      authenticate: () => {
        throw new Error("The database is away.");
      },
    });

    const response = await sendByFetch(gateway, jsonCall(SEEDREAM_BODY));

    expect(response.status).toBe(500);
    expect(logLines).toHaveLength(2);
    expect([textOf(response), ...logLines].join("\n")).not.toContain(CALLER_KEY);
    expect(textOf(response)).not.toContain("database");
  });
});

function textOf({ headers, text }: ReadResponse): string {
  return JSON.stringify(headers) + text;
}
