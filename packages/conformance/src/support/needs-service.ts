import { describe } from "vitest";

/** A server that some tests need, and that not every machine has. */
export interface Service {
  readonly name: string;
  /** The environment variable that tells another address. */
  readonly variable: string;
  /** Where it is looked for otherwise. */
  readonly url: string;
  /** Rejects where it cannot be used. */
  readonly probe: (url: string) => Promise<unknown>;
}

/**
 * Describes tests that need a server. Where it cannot be used they are skipped, and a line says so; with `CI=true`
 * this rejects.
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

function urlOf({ variable, url }: Service): string {
  return process.env[variable] ?? url;
}

async function canUse({ name, variable, probe }: Service, url: string): Promise<boolean> {
  try {
    await probe(url);
    return true;
  } catch (cause) {
    const notice = `needs ${name}, which is neither at its usual address nor at that of ${variable}`;
    if (process.env["CI"] === "true") throw new Error(`This test file ${notice}.`, { cause });
    process.stderr.write(`Left out: a test file that ${notice}.\n`);
    return false;
  }
}
