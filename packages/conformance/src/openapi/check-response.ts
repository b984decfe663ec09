import { openApiDocument } from "@calotype/core/openapi";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Call, ReadResponse } from "../support/http-client.js";
import { readEvents } from "../support/read-events.js";

/** The parts of the document that responses are compared with. Everything else is read by the validator. */
interface Description {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { responses: Record<string, Described> }>>>
  >;
  readonly components: { readonly responses: Readonly<Record<string, Described>> };
}

interface Described {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<
    Record<string, { readonly schema?: { readonly $ref?: string }; readonly "x-events"?: Events }>
  >;
}

type Events = Readonly<Record<string, { readonly $ref: string }>>;

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the linter checks the structure of the document
const description = openApiDocument as unknown as Description;
const ajv = new Ajv2020({ strict: false, allErrors: true }).addSchema(openApiDocument, "openapi");
const validators = new Map<string, ValidateFunction>();

/** The problems of a value with the schema of this name or reference. */
export function findProblems(reference: string, value: unknown): readonly string[] {
  const pointer = reference.startsWith("#") ? reference : `#/components/schemas/${reference}`;
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi${pointer}` });
  validators.set(pointer, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Headers of servers, of hosts in these tests, and of the CORS protocol, which the document does not name. */
const OTHERS =
  /^(?:connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|x-powered-by|x-host|access-control-.*)$/;

/** The page that shows the document is not part of the interface. */
const REFERENCE = /\/reference(?:\/[\w.]*)?$/;

/**
 * Compares a response with the OpenAPI document: its status, its headers, its body or its events. Returns the problems. A
 * response of the host, which has no `x-request-id`, has none.
 */
export function compareWithDocument(
  { method = "POST", path }: Call,
  response: ReadResponse,
): readonly string[] {
  const { status, headers } = response;
  const isPreflight = method === "OPTIONS" && status === 204;
  const isOther = headers["x-request-id"]?.startsWith("req_") !== true || REFERENCE.test(path);
  if (isOther || isPreflight) return [];
  const described = findResponse(method, path, status);
  if (described === undefined) {
    const isUnserved = status === 404 && findPath(path) === undefined;
    return isUnserved ? findProblems("Error", JSON.parse(response.text)) : ["The status is not described."];
  }
  const known = Object.keys(described.headers ?? {});
  const unknown = Object.keys(headers).filter((name) => !OTHERS.test(name) && !known.includes(name));
  return [
    ...unknown.map((name) => `The header ${name} is not described.`),
    ...(method === "HEAD" ? [] : compareBody(described, response)),
  ];
}

function compareBody({ content }: Described, { headers, text }: ReadResponse): readonly string[] {
  if (content === undefined) return text === "" ? [] : ["There is a body."];
  const [type = ""] = headers["content-type"]?.split(";") ?? [];
  const media = content[type] ?? content[type.replace(/\/.*/, "/*")];
  if (media === undefined) return [`The type ${type} is not described.`];
  if (media["x-events"] !== undefined) return compareEvents(media["x-events"], text);
  if (type !== "application/json") return [];
  // The document itself has no schema of its own.
  const reference = media.schema?.$ref;
  return reference === undefined ? [] : findProblems(reference, JSON.parse(text));
}

function compareEvents(events: Events, text: string): readonly string[] {
  return readEvents(text).flatMap(({ event = "message", data }) => {
    if (data === "[DONE]") return [];
    const schema = events[event];
    if (schema === undefined) return [`The event ${event} is not described.`];
    return findProblems(schema.$ref, JSON.parse(data)).map((problem) => `${event}: ${problem}`);
  });
}

function findResponse(method: string, path: string, status: number): Described | undefined {
  const operations = findPath(path) ?? {};
  // A method that a path does not take gets the error of the path.
  const own = operations[(method === "HEAD" ? "GET" : method).toLowerCase()];
  const { responses } = own ?? Object.values(operations)[0] ?? { responses: {} };
  const found =
    own !== undefined || status === 405 || status === 401
      ? (responses[status] ?? responses["default"])
      : undefined;
  const name = found?.$ref?.replace("#/components/responses/", "");
  return name === undefined ? found : description.components.responses[name];
}

const PATHS = Object.entries(description.paths)
  .toSorted(([a], [b]) => b.length - a.length)
  .map(([template, operations]) => ({
    operations,
    // A gateway may be mounted anywhere. The name of a model may have slashes.
    pattern: new RegExp(
      `^(?:/.*)?${template
        .replaceAll(".", "\\.")
        .replace("{model}", ".+")
        .replaceAll(/\{\w+\}/g, "[^/]+")}$`,
    ),
  }));

/** The operations of a path, by their methods. */
function findPath(path: string): Description["paths"][string] | undefined {
  const [beginning = ""] = path.split("?");
  const normal = beginning.replaceAll(/\/{2,}/g, "/").replace(/(.)\/$/, "$1");
  return PATHS.find(({ pattern }) => pattern.test(normal))?.operations;
}
