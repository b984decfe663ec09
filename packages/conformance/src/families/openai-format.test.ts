import type { ClientName, GatewayOptions } from "@calotype/core";
import sharp from "sharp";
import { expect, it } from "vitest";
import { expectCounts } from "../suites/results.ts";
import { findOpenaiProblems, findResponseProblems } from "../support/openai-schemas.ts";
import { useProviders } from "../support/use-providers.ts";
import { openService, type Reply } from "./open-service.ts";
import { type FamilyService, SERVICES } from "./services.ts";

const providers = useProviders({ images: "tiny" });

/** A caller without a profile, and one with each profile. All of them get OpenAI's JSON. */
const CLIENTS: readonly (ClientName | "none")[] = [
  "none",
  "ai-sdk",
  "comfyui",
  "dify",
  "langchain",
  "librechat",
  "litellm",
  "lobehub",
  "n8n",
  "open-webui",
  "openai",
];
/** The profile with OpenAI's streams. With the others a stream has the provider's own format. */
const STREAMS: ClientName = "openai";

const keyOf = (client: string): string => `caller-key-of-the-client-${client}`;
const callers: GatewayOptions["callers"] = CLIENTS.map((client) => ({
  id: client,
  key: keyOf(client),
  ...(client !== "none" && { client }),
}));

const canvas = { width: 512, height: 512, channels: 3, background: "#cc3333" } as const;
const png = await sharp({ create: canvas }).png().toBuffer();
const images = [{ image_url: `data:image/png;base64,${png.toString("base64")}` }];
const GENERATIONS = "/v1/images/generations";
const EDITS = "/v1/images/edits";

const REQUESTS = {
  "2 images": { path: GENERATIONS, fields: { n: 2 } },
  edit: { path: EDITS, fields: { images } },
  refused: { path: GENERATIONS, fields: {} },
} as const;

interface Check {
  readonly client: string;
  readonly request: keyof typeof REQUESTS;
  readonly stream?: true;
}

const NAMES = Object.keys(REQUESTS) as Check["request"][];
const CHECKS: readonly Check[] = [
  ...CLIENTS.flatMap((client) => NAMES.map((request) => ({ client, request }))),
  ...NAMES.map((request) => ({ client: STREAMS, request, stream: true as const })),
];

/** The tokens of JSON, or of all events of a stream. */
function sumTokens({ text }: Reply, name: "output_tokens" | "total_tokens"): number {
  const counts = [...text.matchAll(new RegExp(`"${name}":(\\d+)`, "g"))];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** What OpenAI's description does not allow in the responses of one service, and what they say differently from the record. */
async function checkService(service: FamilyService): Promise<readonly string[]> {
  const { send, records } = await openService(providers(), service, { options: { callers } });
  const check = async ({ client, request, stream }: Check): Promise<readonly string[]> => {
    const { path, fields } = REQUESTS[request];
    const body = {
      model: service.model,
      prompt: "2 images of a red fox",
      ...fields,
      ...(stream && { stream }),
    };
    const reply = await send(path, body, { authorization: `Bearer ${keyOf(client)}` });
    const isRefused = request === "refused" || (request === "edit" && service.name === "`zhipu`");
    const problems = [...findResponseProblems(reply)];
    if (reply.status !== 200 && !isRefused) problems.push(`the status is ${reply.status}`);
    const record = records.find(({ id }) => id === reply.headers.get("x-request-id"));
    for (const name of ["output_tokens", "total_tokens"] as const) {
      const recorded = (record?.state === "settled" && record.usage?.[name]) || 0;
      if (!isRefused && sumTokens(reply, name) !== recorded) problems.push(`${name} differ from the record`);
    }
    const title = [client, request, ...(stream ? ["stream"] : [])].join(", ");
    return problems.map((problem) => `${title}: ${problem}`);
  };
  const made = await Promise.all(CHECKS.filter(({ request }) => request !== "refused").map(check));
  providers().emulator.faults.add({ provider: service.provider, ...service.errors.content });
  const refused = await Promise.all(CHECKS.filter(({ request }) => request === "refused").map(check));
  return [...made, ...refused].flat();
}

it.each(SERVICES)(`$name: ${CHECKS.length} responses are as OpenAI describes them`, async (service) => {
  expect(await checkService(service)).toEqual([]);
});

it("the responses are as many as docs/suites.md says", async () => {
  expect(SERVICES.length).toBeGreaterThan(0);
  await expectCounts("openai", {
    "responses are valid": SERVICES.length * CHECKS.length,
    services: SERVICES.length,
  });
});

const OPENAI = SERVICES.filter(({ name }) => name === "OpenAI" || name === "`azure`");

it.each(OPENAI)("$name: the JSON that the provider gets is as OpenAI describes it", async (service) => {
  const { send, calls } = await openService(providers(), service, { options: { callers } });
  const headers = { authorization: `Bearer ${keyOf(STREAMS)}` };
  const link = { image_url: `${providers().server.url}/missing.png` };
  const { model } = service;
  const usual = {
    model,
    prompt: "a red fox",
    n: 2,
    size: "auto",
    quality: "low",
    background: "opaque",
    user: "u-1",
  };
  const format = { output_format: "webp", output_compression: 80, moderation: "low" };
  await send(GENERATIONS, { ...usual, ...format, response_format: "b64_json" }, headers);
  await send(GENERATIONS, { ...usual, size: "2048x1152", stream: true, partial_images: 2 }, headers);
  await send(EDITS, { ...usual, images: [link, link], mask: link, input_fidelity: "high" }, headers);
  const sent = calls().flatMap(({ url, body }) => (body === undefined ? [] : [{ url, body }]));
  expect(sent).toHaveLength(service.dialect === "azure" ? 2 : 3);
  for (const { url, body } of sent) {
    const schema = url.includes("/edits") ? "EditImageBodyJsonParam" : "CreateImageRequest";
    expect(findOpenaiProblems(schema, body)).toEqual([]);
  }
});

it("the list of models and the errors of the gateway itself are as OpenAI describes them", async () => {
  const [service] = SERVICES;
  if (service === undefined) throw new Error("There is no service.");
  const { send } = await openService(providers(), service);
  const { model } = service;
  const read = async (...request: Parameters<typeof send>): Promise<unknown> =>
    JSON.parse((await send(...request)).text);
  expect(findOpenaiProblems("ListModelsResponse", await read("/v1/models"))).toEqual([]);
  expect(findOpenaiProblems("Model", await read(`/v1/models/${model}`))).toEqual([]);
  const refused: readonly (readonly [number, ...Parameters<typeof send>])[] = [
    [400, GENERATIONS, { model }],
    [400, EDITS, { model, prompt: "a red fox" }],
    [401, GENERATIONS, {}, { authorization: "Bearer wrong" }],
    [404, GENERATIONS, { model: "unknown", prompt: "a red fox" }],
    [404, "/v1/models/unknown"],
    [405, GENERATIONS],
  ];
  for (const [status, ...request] of refused) {
    const reply = await send(...request);
    expect([reply.status, ...findResponseProblems(reply)]).toEqual([status]);
  }
});
