import * as z from "zod/mini";
import { wholeUpTo } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";
import type { TaskOptions } from "./task-options.js";

/** The schema of {@link TaskOptions}. */
export const taskSchema = /* @__PURE__ */ (() =>
  z.strictObject(
    {
      concurrency: z.optional(wholeUpTo(0, 1_000)),
      expiresAfterSeconds: z.optional(wholeUpTo(60, 2_592_000)),
      keepSeconds: z.optional(wholeUpTo(60, 31_536_000)),
      maxOpen: z.optional(wholeUpTo(1, 10_000_000)),
      maxOpenBytes: z.optional(wholeUpTo(1024 * 1024, Number.MAX_SAFE_INTEGER)),
    } satisfies Fields<TaskOptions>,
    "must be an object",
  ))();
