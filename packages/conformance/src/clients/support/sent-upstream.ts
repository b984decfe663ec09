import type { Providers } from "../../support/test-gateway.js";

/** The bodies that the providers got, downloads of results left out. */
export function sentUpstream({ emulator }: Providers): readonly unknown[] {
  return emulator.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
}
