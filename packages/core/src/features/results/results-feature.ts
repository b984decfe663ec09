import type { Feature, Kernel } from "../../kernel/feature.js";
import { checkFeatureOptions, throwProblems } from "../../options/problems.js";
import type { AfterImage } from "./after-image.js";
import { createFilesRoute, IMAGE_ID } from "./files-endpoint.js";
import type { PrivateObjects } from "./private-objects.js";
import { createResults, openPrivateObjects } from "./results.js";
import type { ResultsOptions } from "./results-options.js";
import { checkResults, resultsSchema } from "./results-schema.js";
import type { ByteRange, StoredImage } from "./store.js";
import { StoredBody } from "./stored-body.js";
import { createSweeper } from "./sweeper.js";

/** What {@link results} adds to a gateway. */
export interface ResultsApi {
  /**
   * Opens an image that was stored, for the operator. Read its body to the end, or call `return()` of its iterator. Returns `undefined`
   * if there is none, for example because it has expired. Rejects if the store fails or takes too long.
   *
   * @param id one of `stored` of a usage record. Anyone who knows an id can read the image with it, so check who asks.
   * @param range Default: the whole image. Always within the image.
   * @throws TypeError if the gateway stores no images, or its store cannot read them
   */
  openImage(id: string, range?: ByteRange): Promise<StoredImage | undefined>;
}

/**
 * Stores the images of results, so that their links stay valid.
 *
 * @param afterImage called with each image, before it is stored and delivered. It may return other bytes, or throw a `GatewayError`
 * to refuse the image.
 * @throws GatewayOptionsError
 */
export function results(options: ResultsOptions, afterImage?: AfterImage): Feature<ResultsApi> {
  checkFeatureOptions(resultsSchema, options);
  throwProblems(checkResults({ results: options, afterImage }));
  return createResultsFeature(options, afterImage);
}

/**
 * @param options validated. `undefined`: no images are stored
 */
export function createResultsFeature(
  options: ResultsOptions | undefined,
  afterImage: AfterImage | undefined,
): Feature<ResultsApi> {
  return {
    name: "results",
    setup(kernel) {
      const api = createResultsApi(openPrivateObjects(options), kernel);
      if (options === undefined) return { api };
      const images = createResults(options, { ...kernel, afterImage });
      const { served, sweep } = images;
      return {
        api,
        images,
        routes: (host) => (served === undefined ? [] : [createFilesRoute(host, { ...kernel, served })]),
        chores: sweep && [createSweeper(sweep, kernel)],
      };
    },
  };
}

function createResultsApi(
  objects: PrivateObjects | undefined,
  { logger }: Pick<Kernel, "logger">,
): ResultsApi {
  return {
    async openImage(id, range) {
      if (objects === undefined) {
        throw new TypeError(
          "The gateway has no option results, or its store cannot read what it has stored.",
        );
      }
      const image = IMAGE_ID.test(id) ? await objects.open(id, range) : undefined;
      if (image === undefined) return undefined;
      const byteLength = range === undefined ? image.byteLength : range.last - range.first + 1;
      const onFailure = (err: unknown): void =>
        logger.error({ imageId: id, err }, "The store of results failed while an image was read.");
      return { ...image, body: await StoredBody.open(image.body, byteLength, onFailure) };
    },
  };
}
