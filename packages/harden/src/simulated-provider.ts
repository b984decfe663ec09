import type { Transport, TransportRequest, TransportResponse } from "@calotype/core/testing";
import { toRecord } from "./to-record.ts";

/** A call of the gateway, as the provider received it. */
export interface ProviderCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The response of the provider to a call. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Uint8Array[];
  /** Thrown after the last chunk. */
  readonly failure?: Error | undefined;
}

/** A provider without sockets: the gateway calls a function. */
export interface SimulatedProvider {
  readonly transport: Transport;
  /** Returns the calls since the last time, in order. */
  takeCalls(): readonly ProviderCall[];
}

/** A provider without sockets whose responses come from a function. */
export function createSimulatedProvider(reply: (call: ProviderCall) => UpstreamResponse): SimulatedProvider {
  let calls: ProviderCall[] = [];
  return {
    takeCalls() {
      const taken = calls;
      calls = [];
      return taken;
    },
    transport: {
      async send({ url, headers, body = "" }: TransportRequest): Promise<TransportResponse> {
        const call = { url, headers, body: typeof body === "string" ? body : await readText(body) };
        calls.push(call);
        return toResponse(reply(call));
      },
      async download(): Promise<TransportResponse> {
        return toResponse({ status: 200, headers: {}, chunks: [Buffer.from("image")] });
      },
      close: () => Promise.resolve(),
    },
  };
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

function toResponse({ status, headers, chunks, failure }: UpstreamResponse): TransportResponse {
  let isCancelled = false;
  return {
    status,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    body: (async function* () {
      for (const chunk of chunks) {
        if (isCancelled) throw new Error("cancelled");
        // A copy, because the gateway may keep or free the chunk.
        yield Uint8Array.from(chunk);
      }
      if (failure !== undefined) throw failure;
    })(),
    cancel() {
      isCancelled = true;
    },
  };
}

/** A successful response: the number of images and the form of the body. */
export interface ImageReply {
  readonly images: number;
  readonly form: "seedream" | "events" | "qwen-image";
}

/** The response to a call with all images that it asks for. */
export function planReply({ url, body }: ProviderCall): ImageReply {
  const fields = toRecord(JSON.parse(body));
  if (!url.endsWith("/images/generations")) {
    return { images: toCount(toRecord(fields["parameters"])["n"]), form: "qwen-image" };
  }
  const options = toRecord(fields["sequential_image_generation_options"]);
  const images = fields["sequential_image_generation"] === "auto" ? toCount(options["max_images"]) : 1;
  return { images, form: fields["stream"] === true ? "events" : "seedream" };
}

const TOKENS_PER_IMAGE = 16_384;

/** The body of a successful response. */
export function writeImageReply({ images, form }: ImageReply): string {
  const indexes = Array.from({ length: images }, (_, index) => index);
  const tokens = images * TOKENS_PER_IMAGE;
  const usage = { generated_images: images, output_tokens: tokens, total_tokens: tokens };
  if (form === "qwen-image") {
    const content = indexes.map((index) => ({ image: urlOf(index) }));
    const choices = [{ finish_reason: "stop", message: { role: "assistant", content } }];
    return JSON.stringify({ request_id: "b1a2", output: { choices }, usage: { image_count: images } });
  }
  if (form === "seedream") {
    const data = indexes.map((index) => ({ url: urlOf(index), size: "2048x2048" }));
    return JSON.stringify({ model: "ep-1", created: 1_763_683_200, data, usage });
  }
  const events = indexes.map((index) => {
    return writeEvent("image_generation.partial_succeeded", {
      image_index: index,
      url: urlOf(index),
      size: "2048x2048",
    });
  });
  return `${events.join("")}${writeEvent("image_generation.completed", { usage })}data: [DONE]\n\n`;
}

function writeEvent(type: string, fields: object): string {
  const data = JSON.stringify({ type, model: "ep-1", created: 1_763_683_200, ...fields });
  return `event: ${type}\ndata: ${data}\n\n`;
}

/** The response of a provider that makes all images. */
export function makeImages(call: ProviderCall): UpstreamResponse {
  const reply = planReply(call);
  return { ...headOf(reply), chunks: [Buffer.from(writeImageReply(reply))] };
}

/** The head of a successful response. */
function headOf({ form }: ImageReply): Pick<UpstreamResponse, "status" | "headers"> {
  const type = form === "events" ? "text/event-stream" : "application/json";
  return { status: 200, headers: { "content-type": type } };
}

function urlOf(index: number): string {
  return `https://images.example/${index}.png`;
}

function toCount(value: unknown): number {
  return typeof value === "number" && value >= 1 && value <= 15 ? Math.floor(value) : 1;
}
