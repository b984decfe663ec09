// node packages/site/src/home/write-picture.ts: makes the picture of the home page again, with a gateway and the emulator: four
// images in public/home, and the usage record of their request in record.json.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createGateway, type UsageRecord } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import sharp from "sharp";

const MODEL = "seedream-4-5";
const KEY = "sk-home";
const OUT = join(import.meta.dirname, "../../public/home");

const emulator = createEmulator();
const records: UsageRecord[] = [];
const gateway = createGateway({
  models: { [MODEL]: { family: "seedream" } },
  channels: [
    { id: "ark", family: "seedream", apiKey: "any", modelMapping: { [MODEL]: "doubao-seedream-4-5-251128" } },
  ],
  callers: [{ id: "web-shop", key: KEY, group: "vip" }],
  billing: {
    model_details: { [MODEL]: { pricing_mode: "per-request", model_price: "0.3" } },
    group_ratio: { default: "1", vip: "0.8" },
  },
  fetch: (input, init) => emulator.fetch(input, init),
  onUsage: (record) => void records.push(record),
});

const response = await gateway.fetch(
  new Request("http://localhost/v1/images/generations", {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: MODEL,
      prompt: "Four pictures of a harbour, a season each",
      n: 4,
      size: "2560x1440",
      response_format: "b64_json",
      watermark: false,
    }),
  }),
);
if (!response.ok) throw new Error(await response.text());
const { data }: { readonly data: readonly { readonly b64_json: string }[] } = await response.json();
await gateway.close();
for (const [index, { b64_json }] of data.entries()) {
  const image = sharp(Buffer.from(b64_json, "base64")).resize(560).webp({ quality: 70 });
  await image.toFile(join(OUT, `${index + 1}.webp`));
}
const [record] = records;
if (record?.state !== "settled") throw new Error("The request left no settled record.");
const { model, images, charge, derivation } = record;
writeFileSync(
  join(OUT, "record.json"),
  `${JSON.stringify({ model, images, charge, derivation }, null, 2)}\n`,
);
