import { writeFile } from "node:fs/promises";
import type { SettledRecord } from "@calotype/core";
import { imageSize } from "image-size";
import type { Image } from "openai/resources/images";
import { type CallContext, callGateway } from "./call-gateway.ts";
import type { App } from "./start-app.ts";
import type { Step } from "./tour.ts";

/** What one step made: the files, and what the gateway recorded of it. */
export interface StepResult {
  readonly step: Step;
  readonly files: readonly string[];
  /** Width and height as they stand in the picture's own bytes. */
  readonly size: string;
  readonly seconds: number;
  readonly record: SettledRecord;
}

/** Makes the call and saves its pictures as `<prefix>-<name>-<index>.<type>`. */
export async function runStep(
  step: Step,
  context: CallContext,
  { app, prefix }: { readonly app: App; readonly prefix: string },
): Promise<StepResult> {
  const startedAt = performance.now();
  const { images, requestId } = await callGateway(step, context);
  const seconds = (performance.now() - startedAt) / 1000;
  const pictures = await Promise.all(images.map(readPicture));
  const files = await Promise.all(
    pictures.map(async (bytes, index) => {
      const suffix = pictures.length > 1 ? `-${index + 1}` : "";
      const path = `${prefix}-${step.file}${suffix}.${imageSize(bytes).type}`;
      await writeFile(path, bytes);
      return path;
    }),
  );
  return { step, files, size: describeSizes(pictures), seconds, record: await app.findRecord(requestId) };
}

/** Links live for a day only; whoever wants to keep a picture downloads it now. */
async function readPicture({ url, b64_json: base64 }: Image): Promise<Uint8Array> {
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  const response = await fetch(url ?? "");
  if (!response.ok) throw new Error(`A picture's link responded with ${response.status}.`);
  return response.bytes();
}

function describeSizes(pictures: readonly Uint8Array[]): string {
  const sizes = pictures.map((bytes) => imageSize(bytes)).map(({ width, height }) => `${width}x${height}`);
  return [...new Set(sizes)].join(" ");
}
