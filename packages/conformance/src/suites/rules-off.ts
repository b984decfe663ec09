/** Rules of IBM's ruleset, and one of Spectral's, that the OpenAPI document does not follow, and why. */
export const RULES_OFF: Readonly<Record<string, string>> = {
  ...sameReason(
    [
      "ibm-collection-array-property",
      "ibm-enum-casing-convention",
      "ibm-error-response-schemas",
      "ibm-parameter-casing-convention",
      "ibm-path-segment-casing-convention",
      "ibm-property-casing-convention",
      "ibm-schema-naming-convention",
      "ibm-use-date-based-format",
      "ibm-valid-path-segments",
    ],
    "The names and shapes are those of OpenAI, Google and DashScope, whose clients send and read them.",
  ),
  ...sameReason(
    ["ibm-array-attributes", "ibm-integer-attributes", "ibm-string-attributes"],
    "They ask for a bound of every value. The document has the bounds that the gateway checks; the provider checks the others.",
  ),
  ...sameReason(
    ["ibm-schema-keywords", "ibm-schema-type-format", "no-$ref-siblings"],
    "They do not know JSON Schema 2020-12, which OpenAPI 3.1 has: `const`, `contentMediaType`, the type `null`, `$ref` with a description.",
  ),
  ...sameReason(
    ["ibm-operationid-casing-convention", "ibm-operationid-naming-convention"],
    "Generated clients have the names of the operations as names of methods, and their users call them.",
  ),
  ...sameReason(
    ["ibm-accept-and-return-models", "ibm-well-defined-dictionaries"],
    "Members that are not listed are forwarded, and the providers' own bodies are passed on as they are.",
  ),
  "ibm-avoid-inline-schemas": "A schema has a name if it is used twice, or if clients handle it by itself.",
  "ibm-content-contains-schema": "OpenAPI 3.1 describes binary content without a schema.",
  "ibm-major-version-in-path": "The paths are those of the services whose clients call them.",
  "ibm-no-nullable-properties": "`null` counts as absent, because many clients send it.",
  "ibm-required-array-properties-in-response":
    "The lists come with a state, such as the images of a task that has some; OpenAI's clients read absent as none.",
  "ibm-response-status-codes":
    "`Prefer: respond-async` makes a 202 of a 200. 422 is the status of a conflict of idempotency keys.",
};

function sameReason(rules: readonly string[], reason: string): Record<string, string> {
  return Object.fromEntries(rules.map((rule) => [rule, reason]));
}
