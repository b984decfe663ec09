import type { Logger } from "../../logger.js";
import type { Refusal } from "./refusal.js";

/** Writes the line of a refusal. */
export function writeRefusal(logger: Logger, { id: requestId, ...fields }: Refusal): void {
  // Lines have the time of their logger.
  writeLine(logger, { requestId, ...fields, time: undefined }, "A request was refused.");
}

/** A refusal is usually a mistake of the client, so it is a warning only if the logger has no `info`. */
export function writeLine(logger: Logger, fields: object, message: string): void {
  if (logger.info === undefined) logger.warn(fields, message);
  else logger.info(fields, message);
}
