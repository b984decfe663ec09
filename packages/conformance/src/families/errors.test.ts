import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.ts";
import { writeTable } from "../support/written-table.ts";
import { openService } from "./open-service.ts";
import { type ErrorKind, SERVICES, type Service } from "./services.ts";

const providers = useProviders({ images: "tiny" });

const COLUMNS: Readonly<Record<ErrorKind, string>> = {
  content: "refused content",
  key: "refused key",
  model: "unknown model",
  rate: "rate limit",
  quota: "used-up quota",
  overload: "overload",
  server: "failure",
  connection: "lost connection",
};

/** The cells of each service, in the order of the columns. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "Seedream 4.5": [
    "400",
    "another channel, else 401",
    "another channel, else 401",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 429",
    "502",
    "502",
  ],
  "Seedream 5.0 Pro": [
    "400",
    "another channel, else 401",
    "another channel, else 401",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 429",
    "502",
    "502",
  ],
  "Qwen-Image 2.0": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "Wan 2.7": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  Gemini: [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  OpenAI: [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`azure`": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`xai`": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`openrouter`": [
    "403",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`together`": [
    "422",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`siliconflow`": [
    "400",
    "another channel, else 401",
    "another channel, else 400",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`zhipu`": [
    "400",
    "another channel, else 401",
    "another channel, else 400",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 429",
    "502",
    "502",
  ],
  "`vllm`": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "\u2013",
    "another channel, else 502",
    "502",
    "502",
  ],
  "`localai`": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "\u2013",
    "another channel, else 502",
    "502",
    "502",
  ],
  "FLUX.2 (example)": [
    "400",
    "another channel, else 401",
    "another channel, else 404",
    "another channel, else 429",
    "another channel, else 429",
    "another channel, else 502",
    "502",
    "502",
  ],
};

/** What was seen, by service and kind. */
const seen = new Map<string, string>();

describe.each(SERVICES)("$name", (service) => {
  it.each(Object.keys(COLUMNS) as ErrorKind[])("%s", async (kind) => {
    const cell = await observe(service, kind);
    seen.set(`${service.name}|${kind}`, cell);
    expect(cell).toBe(EXPECTED[service.name]?.[Object.keys(COLUMNS).indexOf(kind)]);
  });
});

/** Two channels fail in the same way. Whether the second one gets the request, and the status for the client. */
async function observe(service: Service, kind: ErrorKind): Promise<string> {
  const fault = service.errors[kind];
  if (fault === undefined) return "–";
  const { send, calls, records } = await openService(providers(), service, { channels: 2 });
  providers().emulator.faults.add({ provider: service.provider, ...fault });
  const { status, text } = await send("/v1/images/generations", {
    model: service.model,
    prompt: "a red fox",
  });
  const { error } = JSON.parse(text);
  expect(error).toMatchObject({ message: expect.stringMatching(/./), code: expect.stringMatching(/./) });
  for (const record of records) expect(record).toMatchObject({ images: 0, charge: "0" });
  return calls().length === 2 ? `another channel, else ${status}` : String(status);
}

it("docs/errors.md has the table", async () => {
  const rows = SERVICES.map(({ name, page }) => [
    `[${name}](families/${page})`,
    ...Object.keys(COLUMNS).map((kind) => seen.get(`${name}|${kind}`) ?? "not seen"),
  ]);
  const { text, path } = writeTable("docs/errors.md", ["", ...Object.values(COLUMNS)], rows);
  await expect(text).toMatchFileSnapshot(path);
});
