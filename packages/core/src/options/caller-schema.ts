import * as z from "zod/mini";
import type { CallerOptions } from "../auth/authenticate.js";
import { USER_PREFIX } from "../auth/check-caller.js";
import { findBudgetProblem } from "../billing/budget.js";
import { CLIENT_PROFILES } from "../request/client-profiles.js";
import type { Caller } from "../types.js";
import { parseInstant } from "../util/instant.js";
import type { Fields } from "../util/parse-fields.js";
import { limits, name, names, preferences } from "./schema-parts.js";

const CLIENT_NAMES = Object.keys(CLIENT_PROFILES);

const EXPIRES_AT = "must be a Date, or a time with a zone such as 2027-01-31T00:00:00Z";

const RESERVED = `must not begin with ${USER_PREFIX}, as the ids of signed-in users do`;

const SHA256 = "must be a SHA-256 of 64 hexadecimal digits";

const budgetSchema = z
  .custom<NonNullable<Caller["budget"]>>(() => true)
  .check(({ value, issues }) => {
    const problem = findBudgetProblem(value);
    if (problem === undefined) return;
    const path = problem.field === "" ? [] : [problem.field];
    issues.push({ code: "custom", input: value, path, message: problem.rule });
  });

/** The fields of a caller without its id and its keys. */
export const callerSettings = {
  group: z.optional(name),
  models: z.optional(names),
  client: z.optional(z.literal(CLIENT_NAMES, `must be one of ${CLIENT_NAMES.join(", ")}`)),
  ...preferences,
  expiresAt: z.optional(z.custom<string | Date>((value) => parseInstant(value) !== undefined, EXPIRES_AT)),
  budget: z.optional(budgetSchema),
  limits,
} satisfies Fields<Omit<Caller, "id">>;

/** The schema of a caller's id. The names of folders cannot stand in the path of a URL. */
export const callerIdSchema = name.check(
  z.refine((id) => id !== "." && id !== "..", 'must not be "." or ".."'),
);

/** The schema of an entry of `callers`. */
export const callerSchema = z
  .strictObject(
    {
      id: name.check(z.refine((id) => !id.startsWith(USER_PREFIX), RESERVED)),
      key: z.optional(
        z
          .string("must be a string")
          .check(
            z.minLength(1, { error: "is missing; is the environment variable set?", abort: true }),
            z.regex(/^[\x21-\x7e]+$/, "must be letters, digits and signs without spaces"),
          ),
      ),
      hash: z.optional(z.string(SHA256).check(z.regex(/^[\da-f]{64}$/i, SHA256))),
      ...callerSettings,
    } satisfies Fields<CallerOptions>,
    "must be an object with id and key or hash",
  )
  .check(
    z.refine(
      (value) => (value.key === undefined) !== (value.hash === undefined),
      "needs either key or hash; is the environment variable set?",
    ),
  );
