import { toPlainError } from "./redact.js";

/** Receives warnings and errors for the operator. A pino logger has this shape. */
export interface Logger {
  /** Gets refused requests, and the history of calls with the option `logCalls`. Without it, `warn` gets refused requests. */
  info?(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Writes lines of JSON to the console's error stream. */
export const consoleLogger: Logger = {
  info: (fields, message) => writeLine("info", fields, message),
  warn: (fields, message) => writeLine("warn", fields, message),
  error: (fields, message) => writeLine("error", fields, message),
};

function writeLine(level: "info" | "warn" | "error", fields: object, message: string): void {
  globalThis.console.error(JSON.stringify({ level, message, ...fields }, describeError));
}

/** Converts errors for JSON, which would write them as `{}`. */
function describeError(key: string, value: unknown): unknown {
  if (key !== "err" && !(value instanceof Error)) return value;
  const { name, message, stack, cause } = toPlainError(value);
  return { name, message, stack, cause };
}

/** Wraps the operator's logger. What it throws is ignored, so that it cannot fail a request or lose a record. */
export function createSafeLogger(logger: Logger): Logger {
  return {
    warn: (fields, message) => attempt(() => logger.warn(fields, message)),
    error: (fields, message) => attempt(() => logger.error(fields, message)),
    ...(logger.info !== undefined && {
      info: (fields, message) => attempt(() => logger.info?.(fields, message)),
    }),
  };
}

/** Adds the id of a request to each line. A class, because each of thousands of open streams has one. */
export class RequestLogger implements Logger {
  readonly #logger: Logger;
  readonly #requestId: string;

  constructor(logger: Logger, requestId: string) {
    this.#logger = logger;
    this.#requestId = requestId;
  }

  warn(fields: object, message: string): void {
    this.#logger.warn({ requestId: this.#requestId, ...fields }, message);
  }

  error(fields: object, message: string): void {
    this.#logger.error({ requestId: this.#requestId, ...fields }, message);
  }
}

function attempt(write: () => void): void {
  try {
    write();
  } catch {
    // The error cannot be logged, because logging failed.
  }
}
