import type { ServerResponse } from "node:http";
import { listen } from "../support/listen.ts";

/** A provider that responds like Ark, but only when the test allows it. */
export interface GatedProvider {
  readonly baseUrl: string;
  /** The number of waiting calls. */
  readonly waiting: () => number;
  /** The number of all calls. */
  readonly received: () => number;
  /** Responds to the waiting calls, each with another image. */
  readonly letGo: () => void;
  readonly close: () => Promise<void>;
}

export async function startGatedProvider(): Promise<GatedProvider> {
  const waiting = new Set<ServerResponse>();
  let received = 0;
  const { url, close } = await listen((request, response) => {
    request.resume().once("end", () => {
      received++;
      waiting.add(response);
    });
  });
  return {
    baseUrl: `${url}/api/v3`,
    waiting: () => waiting.size,
    received: () => received,
    letGo() {
      for (const response of waiting) {
        waiting.delete(response);
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(toResponse(`${url}/${crypto.randomUUID()}.png`)));
      }
    },
    close,
  };
}

function toResponse(url: string): object {
  return {
    model: "doubao-seedream-4-0-250828",
    created: 1_764_000_000,
    data: [{ url, size: "1024x1024" }],
    usage: { generated_images: 1, output_tokens: 4096, total_tokens: 4096 },
  };
}
