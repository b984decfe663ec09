import { describe } from "vitest";
import { canUse, type Service, urlOf } from "./service.ts";

export type { Service };

/**
 * Describes tests that need a server. If it cannot be used, they are skipped and a line is printed. With `CI=true`
 * this rejects instead.
 */
export async function describeWithService(
  service: Service,
  describeTests: (url: string) => void,
): Promise<void> {
  const url = urlOf(service);
  const isThere = await canUse(service, url);
  describe.runIf(isThere)(`with ${service.name}`, () => {
    describeTests(url);
  });
}

/** Describes tests that need two servers, see {@link describeWithService}. */
export async function describeWithServices(
  [first, second]: readonly [Service, Service],
  describeTests: (firstUrl: string, secondUrl: string) => void,
): Promise<void> {
  const [firstUrl, secondUrl] = [urlOf(first), urlOf(second)];
  const isThere = [await canUse(first, firstUrl), await canUse(second, secondUrl)].every(Boolean);
  describe.runIf(isThere)(`with ${first.name} and ${second.name}`, () => {
    describeTests(firstUrl, secondUrl);
  });
}
