import * as z from "zod/mini";
import type { OptionsProblem } from "../../options/options.js";
import { boolean } from "../../options/schema-parts.js";
import type { Preferences } from "../../types.js";
import type { Fields } from "../../util/parse-fields.js";
import type { MarksOptions } from "./marks-options.js";

const PRODUCER = "must be a string of 1 to 256 characters without control characters";

/** The schema of {@link MarksOptions}. */
export const marksSchema = /* @__PURE__ */ (() =>
  z.strictObject(
    {
      producer: z.optional(
        z
          .string(PRODUCER)
          .check(z.refine((value) => /^\P{Cc}{1,256}$/u.test(value) && value.isWellFormed(), PRODUCER)),
      ),
      eu: boolean,
      china: boolean,
      require: boolean,
    } satisfies Fields<MarksOptions>,
    "must be an object",
  ))();

/** The options that say in which format images are delivered. */
interface Formats {
  readonly marks?: MarksOptions | undefined;
  readonly results?: unknown;
  readonly responseFormat?: Preferences["responseFormat"];
  readonly models?: Readonly<Record<string, Pick<Preferences, "responseFormat">>> | undefined;
  readonly callers?: readonly Pick<Preferences, "responseFormat">[] | undefined;
}

/** Checks that the options write a mark, and with `require` that none of them names a format that has none. */
export function* checkMarks({ marks, ...formats }: Formats): Iterable<OptionsProblem> {
  if (marks === undefined) return;
  const { producer, eu = true, china = false, require = false } = marks;
  if (!eu && !china) yield { path: "marks", message: "must write a mark: eu or china must be true" };
  if (china && producer === undefined) {
    yield {
      path: "marks.producer",
      message: "is missing: the AIGC value of china names who makes the images",
    };
  }
  if (require && formats.results === undefined) yield* findLinks(formats);
}

const LINKS =
  'must not be "url" with marks.require and without results: links of providers lead to images without a mark';

function* findLinks({ responseFormat, models = {}, callers = [] }: Formats): Iterable<OptionsProblem> {
  if (responseFormat === "url") yield { path: "responseFormat", message: LINKS };
  for (const [name, model] of Object.entries(models)) {
    if (model.responseFormat === "url") yield { path: `models["${name}"].responseFormat`, message: LINKS };
  }
  for (const [index, caller] of callers.entries()) {
    if (caller.responseFormat === "url") yield { path: `callers[${index}].responseFormat`, message: LINKS };
  }
}
