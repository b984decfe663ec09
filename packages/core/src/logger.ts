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
  globalThis.console.error(JSON.stringify({ level, message, ...fields }));
}
