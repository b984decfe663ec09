import { toPlainError } from "./redact.js";

/** Where the gateway tells the operator what went wrong. A pino logger has this shape. */
export interface Logger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Warnings and errors as lines of JSON on the console's error stream. */
export const consoleLogger: Logger = {
  warn: (fields, message) => writeLine("warn", fields, message),
  error: (fields, message) => writeLine("error", fields, message),
};

function writeLine(level: "warn" | "error", fields: object, message: string): void {
  globalThis.console.error(JSON.stringify({ level, message, ...fields }, describeError));
}

/** Errors have no fields that JSON would write, and whatever else was thrown may have some that it cannot. */
function describeError(key: string, value: unknown): unknown {
  if (key !== "err" && !(value instanceof Error)) return value;
  const { name, message, stack, cause } = toPlainError(value);
  return { name, message, stack, cause };
}

/** The operator's logger, of which no failure may fail a request or lose its record. */
export function createSafeLogger(logger: Logger): Logger {
  return {
    warn: (fields, message) => attempt(() => logger.warn(fields, message)),
    error: (fields, message) => attempt(() => logger.error(fields, message)),
  };
}

/** Adds these fields to each line. */
export function withFields(logger: Logger, fields: object): Logger {
  return new FieldLogger(logger, fields);
}

/** A class, as each request has one. */
class FieldLogger implements Logger {
  readonly #logger: Logger;
  readonly #fields: object;

  constructor(logger: Logger, fields: object) {
    this.#logger = logger;
    this.#fields = fields;
  }

  warn(fields: object, message: string): void {
    this.#logger.warn({ ...this.#fields, ...fields }, message);
  }

  error(fields: object, message: string): void {
    this.#logger.error({ ...this.#fields, ...fields }, message);
  }
}

function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // There is nobody left to tell.
  }
}
