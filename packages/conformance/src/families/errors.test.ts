import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.ts";
import { writeTable } from "../support/written-table.ts";
import { openService } from "./open-service.ts";
import { type ErrorKind, type FamilyService, SERVICES } from "./services.ts";

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

const again = (status: number): string => `another channel, else ${status}`;

/** The cells of a service, in the order of the columns. */
const cells = ({
  content = 400,
  model = 404,
  quota = again(429),
  overload = 502,
} = {}): readonly string[] => [
  String(content),
  again(401),
  again(model),
  again(429),
  quota,
  again(overload),
  "502",
  "502",
];

const ARK = cells({ model: 401, overload: 429 });
const WITHOUT_QUOTA = cells({ quota: "–" });
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "Seedream 4.5": ARK,
  "Seedream 5.0 Pro": ARK,
  "Qwen-Image 2.0": cells(),
  "Wan 2.7": cells(),
  Gemini: cells(),
  "`vertex`": cells(),
  OpenAI: cells(),
  "`azure`": cells(),
  "`xai`": cells(),
  "`openrouter`": cells({ content: 403 }),
  "`together`": cells({ content: 422 }),
  "`siliconflow`": cells({ model: 400 }),
  "`zhipu`": cells({ model: 400, overload: 429 }),
  "`vllm`": WITHOUT_QUOTA,
  "`localai`": WITHOUT_QUOTA,
  "`relay`": cells(),
  "`minimax`": cells(),
  "`recraft`": cells(),
  "`mai`": cells(),
  "`ideogram`": cells({ content: 422 }),
  "`tokenhub`": cells({ content: 422 }),
  FLUX: cells(),
  fal: cells({ content: 422 }),
  Replicate: cells(),
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
async function observe(service: FamilyService, kind: ErrorKind): Promise<string> {
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
