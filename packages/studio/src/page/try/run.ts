import type { EstimateQuery, ModelEntry, UsageRecord } from "../../wire.js";
import { ApiError, call, send } from "../api.js";
import { toApiError } from "../use-data.js";
import { type ImageError, readEvents } from "./read-stream.js";

/** An image that has arrived. */
export interface MadeImage {
  readonly url: string;
  readonly extension: string;
  readonly size: string | undefined;
}

/** What the charge of a run is known to be. `none`: there is no record, so the request reached no provider. */
export type RunCharge = "reading" | "none" | "unknown" | UsageRecord;

/** One request to one model, while it runs and after. */
export interface Run {
  readonly id: number;
  readonly model: string;
  readonly prompt: string;
  readonly size: string | undefined;
  /** How many images were asked for. */
  readonly asked: number;
  readonly startedAt: number;
  /** In milliseconds. Absent while it runs. */
  readonly duration?: number;
  readonly images: readonly MadeImage[];
  readonly imageErrors: readonly ImageError[];
  readonly isStopped?: boolean;
  readonly error?: ApiError;
  readonly requestId?: string;
  readonly charge?: RunCharge;
}

let runs = 0;

/** Creates a run that has not been sent. */
export function createRun(query: EstimateQuery, asked: number): Run {
  const { model, prompt, size } = query.fields;
  return {
    id: ++runs,
    model: String(model),
    prompt: String(prompt),
    size: typeof size === "string" ? size : undefined,
    asked,
    startedAt: Date.now(),
    images: [],
    imageErrors: [],
  };
}

/** What a run needs besides its request. */
export interface RunOptions {
  readonly model: ModelEntry;
  readonly key: string | undefined;
  readonly signal: AbortSignal;
  /** Called with what has changed. */
  readonly onChange: (change: Partial<Run>) => void;
}

/** Sends a request and reports its images as they arrive, its end and its charge. Does not reject. */
export async function runRequest(run: Run, query: EstimateQuery, options: RunOptions): Promise<void> {
  const { key, signal, onChange } = options;
  let requestId: string | undefined;
  try {
    const response = await send(`images/${query.operation === "edit" ? "edits" : "generations"}`, {
      method: "POST",
      body: { ...query.fields, ...(options.model.capabilities.stream && { stream: true }) },
      key,
      signal,
    });
    requestId = response.headers.get("x-request-id") ?? undefined;
    if (requestId !== undefined) onChange({ requestId });
    await readImages(response, onChange);
    onChange({ duration: Date.now() - run.startedAt });
  } catch (cause) {
    const error = toApiError(cause);
    requestId ??= error.requestId;
    const end = { duration: Date.now() - run.startedAt, ...(requestId !== undefined && { requestId }) };
    onChange(signal.aborted ? { ...end, isStopped: true } : { ...end, error });
  }
  if (requestId !== undefined && !signal.aborted) {
    onChange({ charge: "reading" });
    onChange({ charge: await readCharge(requestId, run.startedAt) });
  }
}

interface ImageItem {
  readonly b64_json?: string;
  readonly size?: string;
  readonly error?: ImageError;
}

interface ImageList {
  readonly data?: readonly ImageItem[];
  readonly extra?: { readonly errors?: readonly ImageError[] };
}

async function readImages(response: Response, onChange: RunOptions["onChange"]): Promise<void> {
  const images: MadeImage[] = [];
  const add = ({ b64_json, size }: ImageItem): void => {
    if (b64_json === undefined) return;
    images.push(toImage(b64_json, size));
    onChange({ images: [...images] });
  };
  if (!/^text\/event-stream\b/.test(response.headers.get("content-type") ?? "") || response.body === null) {
    const { data = [], extra }: ImageList = await response.json();
    data.forEach(add);
    onChange({ imageErrors: extra?.errors ?? [] });
    return;
  }
  for await (const event of readEvents(response.body)) {
    if (event.type?.endsWith(".completed") === true) add(event);
    if (event.extra?.errors !== undefined) onChange({ imageErrors: event.extra.errors });
  }
}

const TYPES: readonly (readonly [beginning: string, type: string, extension: string])[] = [
  ["/9j/", "image/jpeg", "jpg"],
  ["iVBORw0KGgo", "image/png", "png"],
  ["UklGR", "image/webp", "webp"],
  ["R0lGOD", "image/gif", "gif"],
];

/** An address of this page for an image, which the page's policy allows. */
function toImage(base64: string, size: string | undefined): MadeImage {
  const [, type, extension] = TYPES.find(([beginning]) => base64.startsWith(beginning)) ?? ["", "", "bin"];
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return { url: URL.createObjectURL(new Blob([bytes], { type })), extension, size };
}

/** The record is written when the provider's response has ended, which may be a moment after the last image. */
async function readCharge(requestId: string, startedAt: number): Promise<RunCharge> {
  const near = new Date(startedAt).toISOString();
  const path = `requests/${encodeURIComponent(requestId)}?${new URLSearchParams({ near }).toString()}`;
  for (let tries = 0; tries < 4; tries++) {
    try {
      return await call<UsageRecord>(path);
    } catch (cause) {
      if (!(cause instanceof ApiError) || cause.status !== 404) return "unknown";
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries));
    }
  }
  return "none";
}
