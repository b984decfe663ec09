import { fileURLToPath } from "node:url";
import { SEED } from "@calotype/conformance/support/test-run";
import { configDefaults, defineConfig } from "vitest/config";

const core = fileURLToPath(new URL("../core", import.meta.url));
/** By its path: Bun has no `import.meta.resolve` in a configuration that Vite loads. */
const waitLonger = fileURLToPath(new URL("../conformance/src/support/wait-longer.ts", import.meta.url));

/**
 * Tests of behaviour that only Node's transport has, and of V8's memory. The README describes what Bun does instead.
 */
const NODE_ONLY = [
  "is downloaded without the channel's key and without other headers",
  "is not downloaded from another server of this machine, for any spelling of the link",
  "is downloaded from a name of this machine only if the operator allows it",
  "whose name has an address that is not public is not sent to",
  "that is allowed is reached on a new connection of its own",
  "that ends the connection does not have the message",
  "that is cut between events ends with an error event",
  "that is cut inside an event breaks off",
  "takes bounded memory",
  "have no timers and hold no chunk that was read",
  "hold only the beginning of an incomplete line, and not its chunk",
  "does not contain the bodies of their requests once they stream",
];

/** Test files about connections of undici. */
const NODE_FILES = ["http1-sockets", "transport-node-lookup", "transport-node-tls"].map(
  (name) => `**/${name}.test.ts`,
);

/** The tests of `packages/core` on Bun, where the way to the providers is the global `fetch`. */
export default defineConfig({
  resolve: {
    alias: [
      {
        find: /^(?:#transport|\..*\/transport-node\.js)$/,
        replacement: `${core}/src/upstream/transport-fetch.ts`,
      },
      { find: "#temporary-file", replacement: `${core}/src/images/temporary-file-none.ts` },
    ],
  },
  test: {
    root: core,
    setupFiles: [waitLonger, `${core}/src/testing/seed-fast-check.ts`],
    env: { TEST_SEED: String(SEED) },
    exclude: [...configDefaults.exclude, ...NODE_FILES],
    testNamePattern: new RegExp(`^(?!.*(?:${NODE_ONLY.join("|")}))`),
  },
});
