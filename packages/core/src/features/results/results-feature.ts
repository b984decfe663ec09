import type { Feature } from "../../kernel/feature.js";
import { checkFeatureOptions, throwProblems } from "../../options/problems.js";
import type { AfterImage } from "./after-image.js";
import { createFilesRoute } from "./files-endpoint.js";
import { createResults } from "./results.js";
import type { ResultsOptions } from "./results-options.js";
import { checkResults, resultsSchema } from "./results-schema.js";
import { createSweeper } from "./sweeper.js";

/**
 * Stores the images of results, so that their links stay valid.
 *
 * @param afterImage called with each image, before it is stored and delivered. It may return other bytes, or throw a `GatewayError`
 * to refuse the image.
 * @throws GatewayOptionsError
 */
export function results(options: ResultsOptions, afterImage?: AfterImage): Feature {
  checkFeatureOptions(resultsSchema, options);
  throwProblems(checkResults({ results: options, afterImage }));
  return createResultsFeature(options, afterImage);
}

/** @param options validated */
export function createResultsFeature(options: ResultsOptions, afterImage: AfterImage | undefined): Feature {
  return {
    name: "results",
    setup(kernel) {
      const images = createResults(options, { ...kernel, afterImage });
      const { served, sweep } = images;
      return {
        images,
        routes: (host) => (served === undefined ? [] : [createFilesRoute(host, { ...kernel, served })]),
        chores: sweep && [createSweeper(sweep, kernel)],
      };
    },
  };
}
