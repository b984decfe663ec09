import { isReplyError } from "../reply-error.js";

/** Sends a script by its name, and whole where this server has not seen it, or forgot it when it started again. */
export async function evalWhereMissing(
  byName: () => Promise<unknown>,
  whole: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await byName();
  } catch (error) {
    if (!isReplyError(error, "NOSCRIPT")) throw error;
    return await whole();
  }
}
