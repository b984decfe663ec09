import type { LookupAddress, LookupOptions } from "node:dns";
import { describe, expect, it } from "vitest";
import { lookupPublic } from "./transport-node.js";

/** The result of a lookup, or its error. */
function resolve(hostname: string, options: LookupOptions): Promise<unknown> {
  return new Promise((done) => {
    lookupPublic(hostname, options, (error, address: string | LookupAddress[], family) =>
      done(error ?? { address, family }),
    );
  });
}

const hidden = (name: string): unknown =>
  expect.objectContaining({ message: `${name} has an address that is not public.` });

describe("lookupPublic", () => {
  // An address resolves to itself, with no name server asked.
  it.each([
    ["8.8.8.8", 4],
    ["2001:4860:4860::8888", 6],
  ])("returns the public address %s, alone and in a list", async (address, family) => {
    expect(await resolve(address, {})).toEqual({ address, family });
    expect(await resolve(address, { all: true })).toEqual({
      address: [{ address, family }],
      family: undefined,
    });
  });

  it.each(["localhost", "127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"])(
    "fails for %s, alone and in a list",
    async (name) => {
      expect(await resolve(name, {})).toEqual(hidden(name));
      expect(await resolve(name, { all: true })).toEqual(hidden(name));
      expect(await resolve(name, { family: 0, hints: 0 })).toEqual(hidden(name));
    },
  );

  it("fails with the resolver's error if the name does not exist", async () => {
    expect(await resolve("calotype.invalid", { all: true })).toMatchObject({ syscall: "getaddrinfo" });
  });
});
