import { createReadStream } from "node:fs";
import type OpenAI from "openai";
import type { Image } from "openai/resources/images";
import type { Step } from "./tour.ts";

/** The result of a call: the images, and the id of the gateway's usage record. */
export interface ReadResponse {
  readonly images: readonly Image[];
  readonly requestId: string;
}

/** What a call needs besides the step. */
export interface CallContext {
  readonly client: OpenAI;
  /** Returns the path of the first file of an earlier step. */
  readonly findImage: (file: string) => string;
  /** Called for each image of a stream as it arrives. */
  readonly onImage: (count: number, total: number) => void;
}

/** Makes one call with the official client. */
export async function callGateway(step: Step, context: CallContext): Promise<ReadResponse> {
  const { client, findImage } = context;
  switch (step.kind) {
    case "generate": {
      const { data, request_id: id } = await client.images
        .generate({ ...step.request, stream: false })
        .withResponse();
      return { images: data.data ?? [], requestId: id ?? "" };
    }
    case "edit": {
      const image = createReadStream(findImage(step.image));
      const { data, request_id: id } = await client.images.edit({ ...step.request, image }).withResponse();
      return { images: data.data ?? [], requestId: id ?? "" };
    }
    case "stream":
      return readStream(step, context);
  }
}

async function readStream(
  { request }: Step & { kind: "stream" },
  { client, onImage }: CallContext,
): Promise<ReadResponse> {
  const { data: events, request_id: id } = await client.images
    .generate({ ...request, stream: true })
    .withResponse();
  const images: Image[] = [];
  for await (const event of events) {
    if (!hasImage(event)) continue;
    images.push({ url: event.url });
    onImage(images.length, request.n ?? 1);
  }
  return { images, requestId: id ?? "" };
}

/** The events are the provider's own `image_generation.partial_succeeded`, which the client's types do not contain. */
function hasImage(event: object): event is { readonly url: string } {
  return "url" in event && typeof event.url === "string";
}
