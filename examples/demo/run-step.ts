import { writeFile } from "node:fs/promises";
import type { SettledRecord } from "@calotype/core";
import { imageSize } from "image-size";
import type { Image } from "openai/resources/images";
import { type CallContext, callGateway } from "./call-gateway.ts";
import type { App } from "./start-app.ts";
import type { Step } from "./tour.ts";

/** The result of a step: the files, and the gateway's usage record. */
export interface StepResult {
  readonly step: Step;
  readonly files: readonly string[];
  /** Width and height, read from the bytes of the images. */
  readonly size: string;
  readonly seconds: number;
  readonly record: SettledRecord;
}

/** Makes the call and saves its images as `<prefix>-<name>-<index>.<type>`. */
export async function runStep(
  step: Step,
  context: CallContext,
  { app, prefix }: { readonly app: App; readonly prefix: string },
): Promise<StepResult> {
  const startedAt = performance.now();
  const { images, requestId } = await callGateway(step, context);
  const seconds = (performance.now() - startedAt) / 1000;
  const contents = await Promise.all(images.map(download));
  const files = await Promise.all(
    contents.map(async (bytes, index) => {
      const suffix = contents.length > 1 ? `-${index + 1}` : "";
      const path = `${prefix}-${step.file}${suffix}.${imageSize(bytes).type}`;
      await writeFile(path, bytes);
      return path;
    }),
  );
  return { step, files, size: describeSizes(contents), seconds, record: await app.findRecord(requestId) };
}

/** Downloads the image, because links expire after a day. */
async function download({ url, b64_json: base64 }: Image): Promise<Uint8Array> {
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  const response = await fetch(url ?? "");
  if (!response.ok) throw new Error(`The link of an image responded with ${response.status}.`);
  return response.bytes();
}

function describeSizes(contents: readonly Uint8Array[]): string {
  const sizes = contents.map((bytes) => imageSize(bytes)).map(({ width, height }) => `${width}x${height}`);
  return [...new Set(sizes)].join(" ");
}
