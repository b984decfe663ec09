import { createReadStream } from "node:fs";
import type OpenAI from "openai";
import type { Image } from "openai/resources/images";
import type { Step } from "./tour.ts";

/** What a call gave: the pictures, and the id under which the gateway recorded it. */
export interface ReadResponse {
  readonly images: readonly Image[];
  readonly requestId: string;
}

/** What a call needs beside itself. */
export interface CallContext {
  readonly client: OpenAI;
  /** The file that an earlier step saved first. */
  readonly findPicture: (file: string) => string;
  /** Called for each picture of a stream as it arrives. */
  readonly onImage: (count: number, total: number) => void;
}

/** Makes one call with the official client. */
export async function callGateway(step: Step, context: CallContext): Promise<ReadResponse> {
  const { client, findPicture } = context;
  switch (step.kind) {
    case "generate": {
      const { data, request_id: id } = await client.images
        .generate({ ...step.request, stream: false })
        .withResponse();
      return { images: data.data ?? [], requestId: id ?? "" };
    }
    case "edit": {
      const image = createReadStream(findPicture(step.picture));
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
    if (!hasPicture(event)) continue;
    images.push({ url: event.url });
    onImage(images.length, request.n ?? 1);
  }
  return { images, requestId: id ?? "" };
}

/** The events are the provider's own, `image_generation.partial_succeeded`; the client's types know others. */
function hasPicture(event: object): event is { readonly url: string } {
  return "url" in event && typeof event.url === "string";
}
