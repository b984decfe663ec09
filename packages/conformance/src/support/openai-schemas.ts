import { Ajv } from "ajv";
import { readEvents } from "./read-events.ts";
import { readText } from "./workspace.ts";

/** OpenAI's own description of its images API, copied with its licence. */
const DESCRIPTION = "packages/conformance/fixtures/openai/images.schemas.json";

const ajv = new Ajv({ strict: false, allErrors: true }).addSchema(
  JSON.parse(readText(DESCRIPTION), relax),
  "openai",
);
// Their values are not checked.
for (const format of ["unixtime", "binary", "date"]) ajv.addFormat(format, true);
ajv.addFormat("uri", (uri: string) => URL.canParse(uri));

/**
 * The only relaxation: OpenAI's models have three sizes, and those of other providers have more. Besides that, `nullable` of
 * OpenAPI 3.0 is written as JSON Schema.
 */
function relax(name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { nullable = false, ...schema }: { nullable?: unknown } = value;
  const others = [
    ...(name === "size" ? [{ type: "string", pattern: "^[1-9]\\d*x[1-9]\\d*$" }] : []),
    ...(nullable === true ? [{ type: "null" }] : []),
  ];
  return others.length === 0 ? value : { anyOf: [schema, ...others] };
}

/** The problems of a value with OpenAI's schema of this name. */
export function findOpenaiProblems(schema: string, value: unknown): readonly string[] {
  const validate = ajv.getSchema(`openai#/components/schemas/${schema}`);
  if (validate === undefined) throw new Error(`OpenAI's description has no ${schema}.`);
  if (validate(value) === true) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${schema}${instancePath} ${message}`);
}

/** OpenAI's schemas of the events. It describes no `….usage`, which the gateway sends if fewer images come than requested. */
const EVENTS: Readonly<Record<string, string>> = {
  "image_generation.partial_image": "ImageGenPartialImageEvent",
  "image_generation.completed": "ImageGenCompletedEvent",
  "image_edit.partial_image": "ImageEditPartialImageEvent",
  "image_edit.completed": "ImageEditCompletedEvent",
  error: "ErrorResponse",
};

/** The problems of a response of an images endpoint: of its events, its JSON or its error. */
export function findResponseProblems({
  status,
  headers,
  text,
}: {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}): readonly string[] {
  if (headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    return findOpenaiProblems(status === 200 ? "ImagesResponse" : "ErrorResponse", JSON.parse(text));
  }
  return readEvents(text).flatMap(({ event = "", data }) => {
    if (data === "[DONE]") return [];
    const schema = EVENTS[event];
    return schema === undefined ? [`no event ${event}`] : findOpenaiProblems(schema, JSON.parse(data));
  });
}
