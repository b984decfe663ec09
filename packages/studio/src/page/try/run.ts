import type { EstimateQuery, FoundRequest, ModelEntry, UsageRecord } from "../../wire.js";
import { ApiError, call, send } from "../api.js";
import { toApiError } from "../use-data.js";
import { type ImageError, readEvents } from "./read-stream.js";

/** An image that has arrived. */
export interface MadeImage {
  readonly url: string;
  readonly extension: string;
  readonly size: string | undefined;
}

/**
 * What is known about the charge of a run. `none`: the gateway refused the request before it reached a provider. `later`: the
 * record is not there yet, and is looked for. `missing`: it was looked for in vain. `unsent`: there was no response, so that
 * not even the request id is known.
 */
export type RunCharge = "reading" | "later" | "none" | "missing" | "unsent" | UsageRecord;

/** One request to one model, while it runs and after. */
export interface Run {
  readonly id: number;
  readonly model: string;
  readonly prompt: string;
  /** The pixels that are expected of each image, such as `2048x1152`. */
  readonly pixels: string | undefined;
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
export function createRun(query: EstimateQuery, asked: number, pixels: string | undefined): Run {
  const { model, prompt } = query.fields;
  return {
    id: ++runs,
    model: String(model),
    prompt: String(prompt),
    pixels,
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
  /** Aborts when the person stops the run. */
  readonly signal: AbortSignal;
  /** Aborts when nobody sees the run any more. */
  readonly closed: AbortSignal;
  /** Called with what has changed. */
  readonly onChange: (change: Partial<Run>) => void;
}

/** Sends a request and reports its images as they arrive, its end and its charge. Does not reject. */
export async function runRequest(run: Run, query: EstimateQuery, options: RunOptions): Promise<void> {
  const { key, signal, onChange } = options;
  let requestId: string | undefined;
  let error: ApiError | undefined;
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
    error = toApiError(cause);
    requestId ??= error.requestId;
    const end = { duration: Date.now() - run.startedAt, ...(requestId !== undefined && { requestId }) };
    onChange(signal.aborted ? { ...end, isStopped: true } : { ...end, error });
  }
  if (error !== undefined && !signal.aborted && isRefusal(error)) onChange({ charge: "none" });
  else if (requestId !== undefined) await followCharge(requestId, run, options);
  else if (!signal.aborted) onChange({ charge: "unsent" });
}

/** The errors after which the gateway has sent nothing to a provider. They have no record. */
const REFUSALS: ReadonlySet<string> = new Set([
  "invalid_api_key",
  "model_not_allowed",
  "insufficient_quota",
  "request_refused",
  "model_not_priced",
  "group_not_priced",
  "model_not_found",
  "request_too_large",
  "rate_limit_exceeded",
  "upstream_unreachable",
  "overloaded",
  "gateway_unavailable",
  "gateway_closed",
  "caller_not_found",
  "cross_site_request",
]);

/** A field that the gateway refuses is named. Providers name none. */
function isRefusal({ code, param, upstreamRequestId }: ApiError): boolean {
  if (upstreamRequestId !== undefined) return false;
  return REFUSALS.has(code) || (code === "invalid_request_error" && param !== undefined);
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

/** The record is usually there when the response ends. These are the waits in which it is read again without a word. */
const FIRST_WAITS_MS = [100, 200, 400, 800];
const MAX_WAIT_MS = 10_000;
const MAX_LOOKING_MS = 15 * 60_000;

/** Reads the record of a request until it is there. The ledger may get it late, or be away for some time. */
async function followCharge(requestId: string, run: Run, { onChange, closed }: RunOptions): Promise<void> {
  const near = new Date(run.startedAt).toISOString();
  const path = `requests/${encodeURIComponent(requestId)}?${new URLSearchParams({ near }).toString()}`;
  const endsAt = Date.now() + MAX_LOOKING_MS;
  onChange({ charge: "reading" });
  for (let tries = 0; !closed.aborted && Date.now() < endsAt; tries++) {
    try {
      const found = await call<FoundRequest>(path, { signal: closed });
      onChange({ charge: found.state === "refused" ? "none" : found });
      return;
    } catch (cause) {
      // Not there yet, or the server is away: both may change.
      if (!(cause instanceof ApiError)) break;
    }
    const wait = FIRST_WAITS_MS[tries] ?? Math.min(500 * 2 ** (tries - FIRST_WAITS_MS.length), MAX_WAIT_MS);
    if (tries === FIRST_WAITS_MS.length) onChange({ charge: "later" });
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  if (!closed.aborted) onChange({ charge: "missing" });
}
