import { generateTypes } from "@calotype/conformance/openapi/generate-types";
import { openApiDocument } from "@calotype/core/openapi";
import { expect, it } from "vitest";

const HEAD =
  "// Written from the OpenAPI document of @calotype/core by `vitest run packages/client/src/openapi-types.test.ts -u`.\n\n";

it("openapi-types.ts is what the OpenAPI document says", async () => {
  await expect(HEAD + (await generateTypes(openApiDocument))).toMatchFileSnapshot("openapi-types.ts");
});
