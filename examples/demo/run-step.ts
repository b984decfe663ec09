import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { UsageRecord } from "@calotype/core";
import { imageSize } from "image-size";
import type OpenAI from "openai";
import type { Image } from "openai/resources/images";
import type { App } from "./start-app.ts";
import type { Step } from "./tour.ts";

/** What one step made: the files, and what the gateway recorded of it. */
export interface StepResult {
  readonly files: readonly string[];
  /** Width and height as they stand in the picture's own bytes. */
  readonly size: string;
  readonly seconds: number;
  readonly record: UsageRecord;
}

/** Makes the call with the official client, and saves its pictures as `<number>-<name>-<index>.<type>`. */
export async function runStep(
  client: OpenAI,
  app: App,
  { step, number, folder }: { step: Step; number: number; folder: string },
): Promise<StepResult> {
  const startedAt = performance.now();
  const { data: answer, request_id: requestId } = await client.images.generate(step.request).withResponse();
  const seconds = (performance.now() - startedAt) / 1000;
  const pictures = await Promise.all((answer.data ?? []).map(readPicture));
  const files = await Promise.all(
    pictures.map(async (bytes, index) => {
      const suffix = pictures.length > 1 ? `-${index + 1}` : "";
      const path = join(folder, `${number}-${step.file}${suffix}.${imageSize(bytes).type}`);
      await writeFile(path, bytes);
      return path;
    }),
  );
  return { files, size: describeSizes(pictures), seconds, record: await app.findRecord(requestId ?? "") };
}

/** Links live for a day only; whoever wants to keep a picture downloads it now. */
async function readPicture({ url, b64_json: base64 }: Image): Promise<Uint8Array> {
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  const response = await fetch(url ?? "");
  if (!response.ok) throw new Error(`A picture's link answered with ${response.status}.`);
  return response.bytes();
}

function describeSizes(pictures: readonly Uint8Array[]): string {
  const sizes = pictures.map((bytes) => imageSize(bytes)).map(({ width, height }) => `${width}x${height}`);
  return [...new Set(sizes)].join(" ");
}
