import type { FormPart } from "./http/read-form.js";
import type { Settings } from "./options.js";
import type { ProviderName } from "./provider-name.js";

/** A request as it was received, whatever became of it. */
export interface RecordedRequest {
  /** The provider whose images were requested, `link` for the image of a result link, `unknown` for other paths. */
  readonly route: ProviderName | "link" | "unknown";
  /** The HTTP method. */
  readonly method: string;
  /** With the query. */
  readonly url: string;
  /** Names in lower case, values as sent, including the key in `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body. `undefined` if there is no body, or if it is not JSON. */
  readonly body: unknown;
  /** The body as sent. Empty if there is no body, if it is a form, or if it is larger than the emulator reads. */
  readonly bodyText: string;
  /** The parts of a form in the order they were sent, each with its name and size. `undefined` for other bodies. */
  readonly parts?: readonly FormPart[];
  /** Milliseconds since the epoch, by the emulator's clock. */
  readonly receivedAt: number;
}

export interface Recorder {
  /** Oldest first. The array stays the same object. */
  readonly requests: readonly RecordedRequest[];
  record(request: RecordedRequest): void;
  clear(): void;
}

const maxRequests = 1000;
const maxCharacters = 128 * 1024 * 1024;

/** Keeps the latest requests. The limits bound the memory in load tests and with large references. */
export function createRecorder(): Recorder {
  const requests: RecordedRequest[] = [];
  let characters = 0;
  return {
    requests,
    record(request) {
      requests.push(request);
      characters += lengthOf(request);
      for (const oldest of requests.slice(0, -1)) {
        if (requests.length <= maxRequests && characters <= maxCharacters) break;
        requests.shift();
        characters -= lengthOf(oldest);
      }
    },
    clear() {
      requests.length = 0;
      characters = 0;
    },
  };
}

function lengthOf({ bodyText, parts = [] }: RecordedRequest): number {
  return parts.reduce((sum, { text = "" }) => sum + text.length, bodyText.length);
}

interface RequestToRecord {
  readonly request: Request;
  readonly route: RecordedRequest["route"];
  readonly services: { readonly recorder: Recorder; readonly settings: Pick<Settings, "now"> };
  readonly body?: unknown;
  readonly bodyText?: string;
  readonly parts?: readonly FormPart[] | undefined;
}

/** Records a request with the current time of the emulator's clock. */
export function recordRequest(received: RequestToRecord): void {
  const { request, route, services, body, bodyText = "", parts } = received;
  const { method, url } = request;
  const headers = Object.fromEntries(request.headers);
  services.recorder.record({
    route,
    method,
    url,
    headers,
    body,
    bodyText,
    ...(parts === undefined ? {} : { parts }),
    receivedAt: services.settings.now(),
  });
}
