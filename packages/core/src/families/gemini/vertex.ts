/** Where Vertex AI runs the models. */
export interface VertexPlace {
  /** The id of the project at Google Cloud. */
  readonly project: string;
  /** A region such as `europe-west4`, the continents `us` and `eu`, or `global`. */
  readonly location: string;
}

/** The members of a channel to Vertex AI. */
export interface VertexChannel {
  readonly family: "gemini";
  readonly dialect: "vertex";
  readonly baseUrl: string;
}

const PROJECT = /^[a-z0-9][\w.:-]*$/i;
const LOCATION = /^[a-z]+(?:-[a-z]+\d+)?$/;

/**
 * The members of a channel that reaches the models of Gemini on Vertex AI. Its `apiKey` is a function that returns access
 * tokens, because they last an hour.
 *
 * @throws TypeError if the project or the location cannot be one
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { gemini, vertex } from "@calotype/core/families/gemini";
 * import { GoogleAuth } from "google-auth-library";
 *
 * const auth = new GoogleAuth({ scopes: "https://www.googleapis.com/auth/cloud-platform" });
 *
 * const gateway = createGateway({
 *   families: [gemini],
 *   models: { "gemini-3-pro-image": { family: "gemini" } },
 *   channels: [
 *     {
 *       id: "vertex",
 *       ...vertex({ project: "my-project", location: "global" }),
 *       apiKey: async () => (await auth.getAccessToken()) ?? "",
 *     },
 *   ],
 *   callers: [{ id: "web-shop", key: process.env.CALOTYPE_API_KEY }],
 * });
 * ```
 */
export function vertex({ project, location }: VertexPlace): VertexChannel {
  if (!PROJECT.test(project)) throw new TypeError(`The project of Vertex AI cannot be "${project}".`);
  if (!LOCATION.test(location)) {
    throw new TypeError(
      `The location of Vertex AI cannot be "${location}": use a region such as "europe-west4", or "global".`,
    );
  }
  const path = `/v1/projects/${encodeURIComponent(project)}/locations/${location}/publishers/google`;
  return { family: "gemini", dialect: "vertex", baseUrl: `https://${toHost(location)}${path}` };
}

/** Source: Google Cloud's page of locations, and `@ai-sdk/google-vertex` 5.0.141. */
function toHost(location: string): string {
  if (location === "global") return "aiplatform.googleapis.com";
  if (!location.includes("-")) return `aiplatform.${location}.rep.googleapis.com`;
  return `${location}-aiplatform.googleapis.com`;
}
