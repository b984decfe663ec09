import { PUBLISHED } from "../support/packed-project.js";
import { findFiles, readText } from "../support/workspace.js";
import { readCounts, type SuiteCounts } from "./results.js";

/** A suite or a tool that others wrote, and what it says about calotype. */
export interface Suite {
  readonly name: string;
  /** Who wrote it, as Markdown. */
  readonly from: string;
  /** What it checks. */
  readonly checks: string;
  /** The test that runs it, from the root of the workspace. */
  readonly test: string;
  /** Programs that the test needs, and leaves out if they are missing. */
  readonly needs?: string;
  readonly counts: () => SuiteCounts;
}

const FIXTURES = "packages/conformance/fixtures";
const SUITES = "packages/conformance/src/suites";

/** The number of cases of a fixture that is a list. */
function countCases(path: string): number {
  const cases: readonly unknown[] = JSON.parse(readText(`${FIXTURES}/${path}`));
  return cases.length;
}

/** The scenarios of MCP's suite: `passes`, or why they do not apply. */
export function readMcpScenarios(): Readonly<Record<string, string>> {
  const scenarios: Readonly<Record<string, string>> = JSON.parse(
    readText("packages/mcp/src/testing/conformance-scenarios.json"),
  );
  return scenarios;
}

function countMcpScenarios(): SuiteCounts {
  const results = Object.values(readMcpScenarios());
  const passed = results.filter((result) => result === "passes").length;
  return { "scenarios pass": passed, "do not apply": results.length - passed };
}

export const FORMATS: readonly Suite[] = [
  {
    name: "OpenAI's description",
    from: "[openai/openai-openapi](https://github.com/openai/openai-openapi), MIT",
    checks: "Responses, streams and errors of every service, for a caller with each profile.",
    test: "packages/conformance/src/families/openai-format.test.ts",
    counts: () => readCounts("openai"),
  },
  {
    name: "JSONTestSuite",
    from: "[nst/JSONTestSuite](https://github.com/nst/JSONTestSuite), MIT",
    checks: "JSON bodies are accepted and refused as the suite says, and never crash.",
    test: "packages/conformance/src/json-test-suite.test.ts",
    counts: () => ({ files: findFiles(`${FIXTURES}/json/JSONTestSuite/test_*/*`).length }),
  },
  {
    name: "SSE contract tests",
    from: "[launchdarkly/sse-contract-tests](https://github.com/launchdarkly/sse-contract-tests), Apache-2.0",
    checks: "The reader of events and the relay, with the chunks as sent, byte by byte and at random places.",
    test: "packages/core/src/responses/sse-reader.test.ts",
    counts: () => ({ cases: countCases("sse/launchdarkly-contract.json") }),
  },
  {
    name: "busboy's cases",
    from: "[mscdex/busboy](https://github.com/mscdex/busboy), MIT",
    checks: "Forms, also byte by byte. Cases about options that the gateway does not use are left out.",
    test: "packages/core/src/request/multipart-forms.test.ts",
    counts: () => ({ cases: countCases("multipart/busboy-cases.json") }),
  },
  {
    name: "Structured fields",
    from: "[httpwg/structured-field-tests](https://github.com/httpwg/structured-field-tests), BSD-3-Clause",
    checks:
      "`Prefer` is read beside each vector. `RateLimit` and `RateLimit-Policy` are read by a parser that passes the vectors, and written by it to the same bytes.",
    test: `${SUITES}/structured-fields.test.ts`,
    counts: () => readCounts("structured-fields"),
  },
  {
    name: "MCP conformance",
    from: "[modelcontextprotocol/conformance](https://github.com/modelcontextprotocol/conformance), MIT",
    checks: "The server for tools.",
    test: "packages/mcp/src/conformance.test.ts",
    counts: countMcpScenarios,
  },
  {
    name: "Spectral with IBM's ruleset",
    from: "[stoplightio/spectral](https://github.com/stoplightio/spectral), [IBM/openapi-validator](https://github.com/IBM/openapi-validator), Apache-2.0",
    checks: "The OpenAPI document. [Rules that are off](#rules-that-are-off) are below.",
    test: `${SUITES}/full/openapi-tools.test.ts`,
    needs: "npm's registry",
    counts: () => readCounts("ibm-ruleset"),
  },
  {
    name: "Prism",
    from: "[stoplightio/prism](https://github.com/stoplightio/prism), Apache-2.0",
    checks:
      "A proxy that validates requests and responses with the OpenAPI document: it finds nothing in responses, nor in requests that the gateway accepts.",
    test: `${SUITES}/full/openapi-tools.test.ts`,
    needs: "npm's registry",
    counts: () => readCounts("prism"),
  },
  {
    name: "axe",
    from: "[dequelabs/axe-core](https://github.com/dequelabs/axe-core), MPL-2.0",
    checks:
      "The accessibility of each screen of the studio, in Chromium, in two languages, two themes and three widths.",
    test: "packages/conformance/src/studio/accessibility.test.ts",
    needs: "Chromium",
    counts: () => readCounts("axe"),
  },
];

export const SERVERS: readonly Suite[] = [
  {
    name: "Ceph's radosgw",
    from: "Ceph 16 (Debian: `radosgw`, `ceph-mon`, `ceph-osd`)",
    checks: "The store of images on a real server with the API of S3, of another implementation than s3rver.",
    test: `${SUITES}/full/radosgw.test.ts`,
    needs: "`radosgw`, `ceph-mon`, `ceph-osd`",
    counts: () => readCounts("radosgw"),
  },
  {
    name: "Proxies and h2load",
    from: "nginx 1.22, HAProxy 2.6, Varnish 7.1, nghttp2 1.52 (Debian: `nginx-light`, `haproxy`, `varnish`, `nghttp2-client`)",
    checks:
      "Events and comments arrive at once, through nginx with HTTP/2. A client that leaves is noticed, and charged for what was made. Under load each stream is complete and charged once.",
    test: `${SUITES}/full/proxies.test.ts`,
    needs: "`nginx`, `haproxy`, `varnishd`, `h2load`",
    counts: () => readCounts("proxies"),
  },
  {
    name: "slowhttptest",
    from: "slowhttptest 1.8 (Debian: `slowhttptest`)",
    checks:
      "Other clients are served while connections send headers or bodies slowly, or read an image slowly.",
    test: `${SUITES}/full/slowhttptest.test.ts`,
    needs: "`slowhttptest`",
    counts: () => readCounts("slowhttptest"),
  },
];

export const PACKAGES: readonly Suite[] = [
  {
    name: "publint, Are the types wrong?",
    from: "[publint](https://github.com/publint/publint), [arethetypeswrong](https://github.com/arethetypeswrong/arethetypeswrong.github.io), MIT",
    checks: "The tarballs. Suggestions count as problems.",
    test: "packages/conformance/src/check-packages.ts",
    counts: () => ({ "tarballs are correct": PUBLISHED.length }),
  },
  {
    name: "CycloneDX's schema",
    from: "[CycloneDX/cyclonedx-javascript-library](https://github.com/CycloneDX/cyclonedx-javascript-library), Apache-2.0",
    checks: "The bills of materials, with what is bundled and with what npm installs.",
    test: "packages/conformance/src/release/supply-chain.test.ts",
    counts: () => readCounts("software-bills"),
  },
  {
    name: "A second build",
    from: "calotype",
    checks:
      "A build in another folder, with another mask of file modes and another time zone, makes tarballs with the same bytes.",
    test: `${SUITES}/full/reproducible-tarballs.test.ts`,
    needs: "npm's registry, or its cache",
    counts: () => readCounts("reproducible-tarballs"),
  },
];
