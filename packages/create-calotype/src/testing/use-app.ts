import OpenAI, { APIError, toFile } from "openai";
import sharp from "sharp";
import { vi } from "vitest";
import type { RunningApp } from "./running-app.js";

/** What {@link useApp} found. */
export interface AppUse {
  /** The formats of a generated image and of an edited upload, read from their bytes. */
  readonly formats: readonly (string | undefined)[];
  /** The status of the response to a request for an unknown model. */
  readonly refusal: number | undefined;
  /** The charges that the app printed. */
  readonly charges: readonly string[];
  /** The charges that the studio lists on this machine. Empty without a studio, or if the ledger keeps no list. */
  readonly studio: readonly string[];
}

/** What {@link useApp} finds in an app that works. */
export const WORKING: AppUse = {
  formats: ["jpeg", "jpeg"],
  refusal: 404,
  charges: ["0.25", "0.25"],
  studio: ["0.25", "0.25"],
};

const MODEL = "seedream-4-5-251128";
/** A size of OpenAI's models that this model does not have. */
const SIZE = "1024x1024";

/** Makes an image and edits an upload through the official client, in an app with the provider seedream. */
export async function useApp(app: RunningApp): Promise<AppUse> {
  const { images } = new OpenAI({ baseURL: app.baseUrl, apiKey: "sk-local", maxRetries: 0 });
  const generated = await images.generate({ model: MODEL, prompt: "an oak", size: SIZE });
  const edited = await images.edit({
    model: MODEL,
    prompt: "in winter",
    image: await toFile(await drawPng(), "oak.png", { type: "image/png" }),
    size: SIZE,
  });
  const refused: unknown = await images
    .generate({ model: "unknown", prompt: "an oak" })
    .catch((error) => error);
  const readCharges = () =>
    Array.from(app.output().matchAll(/"charge":"([\d.]+)"/g), ([, charge = ""]) => charge);
  // Records are printed after the response.
  await vi.waitUntil(() => readCharges().length >= 2);
  return {
    formats: await Promise.all([generated, edited].map(({ data }) => readFormat(data?.[0]?.b64_json))),
    refusal: refused instanceof APIError ? refused.status : undefined,
    charges: readCharges(),
    studio: await readStudio(app),
  };
}

async function readStudio({ baseUrl, output }: RunningApp): Promise<string[]> {
  const studio = `http://localhost:${new URL(baseUrl).port}/studio`;
  // Without a session, the app prints a link if it has not done so.
  const page = await fetch(studio);
  if (page.status === 404) return [];
  const findLink = () =>
    output()
      .match(/http:\/\/localhost:\d+\/studio\?token=\w+/g)
      ?.at(-1);
  const opened = await fetch(await vi.waitUntil(findLink), { redirect: "manual" });
  const [cookie = ""] = opened.headers.get("set-cookie")?.split(";") ?? [];
  const response = await fetch(`${studio}/api/records`, { headers: { cookie } });
  // The ledger in memory keeps no list on Workers.
  if (response.status === 501) return [];
  const { records }: { records: { charge: string }[] } = JSON.parse(await response.text());
  return records.map(({ charge }) => charge);
}

/** An image to edit. */
export function drawPng(): Promise<Buffer> {
  return sharp({ create: { width: 800, height: 800, channels: 3, background: "#7a5" } })
    .png()
    .toBuffer();
}

async function readFormat(base64 = ""): Promise<string | undefined> {
  const { format } = await sharp(Buffer.from(base64, "base64")).metadata();
  return format;
}
