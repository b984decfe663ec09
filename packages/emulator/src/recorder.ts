import type { ProviderName } from "./provider-name.js";

/** One request as it arrived, whether it was answered, refused or left hanging. */
export interface RecordedRequest {
  /** What it asked for: an image from a provider, the picture behind a result link, or nothing the providers know. */
  readonly route: ProviderName | "link" | "unknown";
  readonly method: string;
  readonly url: string;
  /** Names in lower case, values as sent: the key under `authorization` too. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body; `undefined` without a body, or when it is not JSON. */
  readonly body: unknown;
  /** The body as sent. Empty without a body, or when it was larger than the emulator reads. */
  readonly bodyText: string;
  /** Milliseconds since the epoch, on the emulator's clock. */
  readonly receivedAt: number;
}

export interface Recorder {
  /** The same array for the emulator's whole life, oldest first. */
  readonly requests: readonly RecordedRequest[];
  record(request: RecordedRequest): void;
  clear(): void;
}

const maxRequests = 1000;
const maxCharacters = 128 * 1024 * 1024;

/** Keeps the latest requests: a load test, or many reference images, must not fill the memory. */
export function createRecorder(): Recorder {
  const requests: RecordedRequest[] = [];
  let characters = 0;
  return {
    requests,
    record(request) {
      requests.push(request);
      characters += request.bodyText.length;
      for (const oldest of requests.slice(0, -1)) {
        if (requests.length <= maxRequests && characters <= maxCharacters) break;
        requests.shift();
        characters -= oldest.bodyText.length;
      }
    },
    clear() {
      requests.length = 0;
      characters = 0;
    },
  };
}
