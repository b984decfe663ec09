import type { Providers } from "../../support/test-gateway.js";

/** The request bodies that the providers got, without downloads of results. */
export function sentUpstream({ emulator }: Providers): readonly unknown[] {
  return emulator.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
}
