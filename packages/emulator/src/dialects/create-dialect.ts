import { jsonResponse, retryAfter } from "../http/responses.js";
import type { Operation, Provider } from "../provider.js";
import type { ProviderName } from "../provider-name.js";
import { randomHex } from "../random.js";
import type { FieldProblem } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import type { DialectErrorFacts, ErrorTable } from "./error-tables.js";

/** What a refusal says, in the words of the table unless it has its own. */
export interface DialectError {
  readonly status: number;
  /** The code on the wire. */
  readonly code: string;
  readonly message: string;
  readonly type: string | undefined;
  readonly param: string;
}

/** A service with a dialect of OpenAI's images API, as data and small functions. */
export interface Dialect {
  readonly name: ProviderName;
  readonly basePath: string;
  readonly errors: ErrorTable;
  /** The names of the errors that every service has. */
  readonly codes: { readonly wrongKey: string; readonly invalid: string; readonly server: string };
  readonly operations: readonly Operation[];
  /** The body of an error. */
  describeError(error: DialectError, requestId: string): unknown;
  /** The key of the request. Default: that of `Authorization: Bearer …`. */
  readonly readKey?: NonNullable<Provider["readKey"]>;
  /** Default `x-request-id`. */
  readonly requestIdHeader?: string;
  readonly needsKey?: boolean;
}

/** The provider of a dialect. */
export function createDialect(dialect: Dialect): Provider {
  const { name, codes, operations } = dialect;
  return {
    name,
    basePaths: [dialect.basePath],
    operations,
    needsKey: dialect.needsKey ?? true,
    ...(dialect.readKey !== undefined && { readKey: dialect.readKey }),
    wrongKey: () => new Refusal({ code: codes.wrongKey }),
    bodyTooLarge: () => new Refusal({ code: codes.invalid, message: "The request body is too large." }),
    bodyNotJson: () => new Refusal({ code: codes.invalid, message: "The request body could not be parsed." }),
    createRequestId: ({ random }: Services) => randomHex(random, 32),
    headersOf: (requestId) => ({ [dialect.requestIdHeader ?? "x-request-id"]: requestId }),
    acceptedKeys: ({ settings }) => settings.apiKeys?.[name],
    codeForStatus: (status) => codeForStatus(dialect, status),
    renderRefusal(refusal, requestId) {
      const error = toDialectError(dialect, refusal);
      const body = dialect.describeError(error, requestId);
      return jsonResponse(body, error.status, retryAfter(refusal.retryAfterSeconds));
    },
    renderNotFound(requestId, { method, url }) {
      const message = `${method} ${new URL(url).pathname} was not found.`;
      const error = { status: 404, code: "404", message, type: undefined, param: "" };
      return jsonResponse(dialect.describeError(error, requestId), 404);
    },
  };
}

/** The error of a refusal, or of a stream that fails. */
export function toDialectError(
  { errors, codes }: Pick<Dialect, "errors" | "codes">,
  refusal: Pick<Refusal, "code" | "message" | "status" | "type" | "param">,
): DialectError {
  const facts =
    (Object.hasOwn(errors, refusal.code) ? errors[refusal.code] : undefined) ?? unknownCode(refusal.code);
  return {
    status: refusal.status ?? facts.status,
    code: facts.wireCode ?? refusal.code,
    message: refusal.message || facts.message,
    type: refusal.type ?? facts.type ?? errors[codes.invalid]?.type,
    param: refusal.param,
  };
}

function unknownCode(code: string): DialectErrorFacts {
  return { status: 400, message: code };
}

function codeForStatus({ errors, codes }: Dialect, status: number): string {
  const found = Object.entries(errors).find(([, facts]) => facts.status === status);
  return found?.[0] ?? (status < 500 ? codes.invalid : codes.server);
}

/** Refuses a prompt that contains `content_moderated`, so that tests need no offensive prompts. */
export function moderate(prompt: string, code: string): void {
  if (prompt.includes("content_moderated")) throw new Refusal({ code });
}

/** The refusal for a field that is missing, unknown, or wrong, with the code of the dialect. */
export function fieldRefuser(code: string): (problem: FieldProblem) => Refusal {
  return ({ kind, name, expected, value }) => {
    const message = {
      missing: `${name} is required`,
      unknown: `Unknown parameter: ${name}`,
      "wrong-type": `${name} must be ${expected}`,
      "wrong-value": `${name} must be one of ${expected}, got '${String(value)}'`,
      "too-small": `${name} must be at least ${expected}`,
      "too-large": `${name} must be at most ${expected}`,
      "too-long": `${name} must not be longer than ${expected} characters`,
    }[kind];
    return new Refusal({ code, message, param: name });
  };
}
