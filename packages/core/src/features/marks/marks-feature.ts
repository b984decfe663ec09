import { invalidRequest } from "../../errors.js";
import type { Feature, Kernel } from "../../kernel/feature.js";
import { checkFeatureOptions, throwProblems } from "../../options/problems.js";
import type { ImageRequest } from "../../types.js";
import { AttemptMarks, createManifestLog } from "./call-marks.js";
import { type Mark, writeAigc } from "./mark.js";
import type { MarksOptions } from "./marks-options.js";
import { checkMarks, marksSchema } from "./marks-schema.js";
import { RequiredDelivery } from "./required-delivery.js";

/**
 * Writes the mark "made by AI", which programs can read, into the PNG, JPEG and WebP images of responses while their bytes pass.
 *
 * @throws GatewayOptionsError
 */
export function marks(options: MarksOptions): Feature {
  checkFeatureOptions(marksSchema, options);
  throwProblems(checkMarks({ marks: options }));
  return createMarksFeature(options);
}

/** @param options validated */
export function createMarksFeature({
  producer = "",
  eu = true,
  china = false,
  require = false,
}: MarksOptions): Feature {
  const createMark = (id: string): Mark => ({
    hasSourceType: eu,
    aigc: china ? writeAigc(producer, id) : undefined,
  });
  return {
    name: "marks",
    setup(kernel) {
      const logManifest = createManifestLog(kernel.logger);
      return {
        marks: {
          check(request) {
            if (require) checkRequest(request, kernel);
          },
          open: (attempt) =>
            new AttemptMarks({ ...attempt, mark: createMark(attempt.id), isRequired: require, logManifest }),
        },
        requireMarks: require
          ? (options, inner) =>
              // Another feature cannot contribute marks besides.
              options.marks instanceof AttemptMarks
                ? new RequiredDelivery(options, options.marks, inner)
                : throwForeign()
          : undefined,
      };
    },
  };
}

function throwForeign(): never {
  throw new TypeError("The marks of the call are not those of this feature.");
}

/** @throws GatewayError `invalid_request_error` if the client would get links of the provider */
function checkRequest(
  { responseFormat, operation }: Pick<ImageRequest, "responseFormat" | "operation">,
  kernel: Pick<Kernel, "contributed">,
): void {
  const isStored = kernel.contributed().images?.handles(operation) === true;
  if (isStored || responseFormat === "b64_json") return;
  throw invalidRequest(
    'Images of this service are marked as made by AI, and links of the provider lead to images without a mark: send "b64_json".',
    "response_format",
  );
}
