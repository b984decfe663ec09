import type { RecordedRequest } from "./recorder.js";
import type { Services } from "./services.js";

interface Arrived {
  readonly request: Request;
  readonly route: RecordedRequest["route"];
  readonly services: Services;
  readonly body?: unknown;
  readonly bodyText?: string;
}

/** Notes a request as it arrived, at this moment of the emulator's clock. */
export function recordRequest({ request, route, services, body, bodyText = "" }: Arrived): void {
  const { method, url } = request;
  const headers = Object.fromEntries(request.headers);
  services.recorder.record({
    route,
    method,
    url,
    headers,
    body,
    bodyText,
    receivedAt: services.settings.now(),
  });
}
