import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "@calotype/core/testing";
import { createRandom } from "./create-random.ts";
import type { VirtualClock } from "./create-virtual-clock.ts";
import { createJudge, createWork, type SharedBackend, type SimulatedChannel } from "./simulated-channel.ts";

/** One call at a provider. */
export interface SimulatedCall {
  readonly channel: string;
  /** The prompt, which identifies the request. */
  readonly prompt: string;
  /** Milliseconds from the start. */
  readonly beganMs: number;
  endedMs: number;
  readonly status: number;
  /** The number of images that were made. */
  readonly images: number;
}

/** The accounts of the fleet at their providers. */
export interface SimulatedProviders {
  readonly transport: Transport;
  readonly calls: readonly SimulatedCall[];
}

/** The options of the simulated providers. */
export interface ProviderOptions {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly channels: readonly SimulatedChannel[];
  readonly backend?: SharedBackend | undefined;
}

/** In one of this number of requests for several images, the provider makes one image less. */
const ONE_LESS_SHARE = 0.1;

export function createProviders({ seed, clock, channels, backend }: ProviderOptions): SimulatedProviders {
  const start = clock.now();
  const takeWork = createWork(backend);
  const judges = new Map(
    channels.map((channel) => [
      channel.id,
      createJudge(channel, createRandom(seed, `channel ${channel.id}`), takeWork),
    ]),
  );
  const random = createRandom(seed, "pictures");
  const calls: SimulatedCall[] = [];

  const send = async ({ url, body }: TransportRequest): Promise<TransportResponse> => {
    const channel = new URL(url).hostname.replace(".test", "");
    const { prompt, asked } = readCall(body);
    const beganMs = clock.now() - start;
    const judge = judges.get(channel);
    if (judge === undefined) throw new TransportError("unreachable", undefined);
    const { status, afterMs } = judge(beganMs, asked);
    const made = asked > 1 && random() < ONE_LESS_SHARE ? asked - 1 : asked;
    const images = status === 200 ? made : 0;
    const call = { channel, prompt, beganMs, endedMs: Number.POSITIVE_INFINITY, status, images };
    calls.push(call);
    await clock.sleep(afterMs);
    call.endedMs = clock.now() - start;
    return respond(status, status === 200 ? toImages(prompt, images) : FAILURES[status]);
  };
  return {
    calls,
    transport: {
      send,
      download: () => Promise.reject(new TransportError("unreachable", undefined)),
      close: () => Promise.resolve(),
    },
  };
}

const FAILURES = {
  429: { error: { code: "ModelAccountIpmRateLimitExceeded" } },
  500: { error: { code: "InternalServiceError" } },
  503: { error: { code: "ServerOverloaded" } },
} as const;

function readCall(body: TransportRequest["body"]): { readonly prompt: string; readonly asked: number } {
  if (typeof body !== "string") throw new TypeError("The simulation sends no files.");
  const fields: {
    readonly prompt: string;
    readonly sequential_image_generation_options?: { readonly max_images?: number };
  } = JSON.parse(body);
  return { prompt: fields.prompt, asked: fields.sequential_image_generation_options?.max_images ?? 1 };
}

function toImages(prompt: string, images: number): object {
  const data = Array.from({ length: images }, (_, index) => ({
    url: `https://pictures.test/${prompt}/${index}.png`,
    size: "2048x2048",
  }));
  return { data, usage: { generated_images: images } };
}

function respond(status: number, body: object): TransportResponse {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return {
    status,
    headers: { get: (name) => (name === "content-type" ? "application/json" : null) },
    body: (async function* () {
      yield bytes;
    })(),
    cancel: () => {},
  };
}
