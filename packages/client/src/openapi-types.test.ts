import { openApiDocument } from "@calotype/core/openapi";
import { expect, it } from "vitest";
import { generateTypes } from "../../conformance/src/openapi/generate-types.js";

const HEAD =
  "// Written from the OpenAPI document of @calotype/core by `vitest run packages/client/src/openapi-types.test.ts -u`.\n\n";

it("openapi-types.ts is what the OpenAPI document says", async () => {
  const types = await generateTypes(openApiDocument);
  // So that an editor still offers the codes of the gateway, although a provider's code may be any string.
  const offered = types.replace(/^( +code: \([^)]+\) \| )string;$/m, "$1(string & {});");
  expect(offered).not.toBe(types);
  // An `@example` of this project is code.
  const commented = offered.replaceAll("* @example", "* For example:");
  await expect(HEAD + commented).toMatchFileSnapshot("openapi-types.ts");
});
