// One gateway for all routes of the app. Next.js may load a module once for each route; the global object is the same.
import { createGateway, type Gateway } from "@calotype/core";
import { type Environment, readOptions } from "@calotype/example-options";
import { createS3Store } from "@calotype/s3";

declare global {
  var calotypeGateway: Gateway | undefined;
}

/** What each user may spend. Each new account gets it, so an app with a real provider decides who may create one. */
export const BUDGET = "5";

export function getGateway(): Gateway {
  globalThis.calotypeGateway ??= createGateway({
    results: readResults(process.env),
    ...readOptions(process.env),
  });
  return globalThis.calotypeGateway;
}

/** With S3_BUCKET, images are stored on S3 or a compatible service, and clients get presigned links to them. */
function readResults(env: Environment) {
  if (!env["S3_BUCKET"]) return undefined;
  const store = createS3Store({
    bucket: env["S3_BUCKET"],
    endpoint: env["S3_ENDPOINT"] || undefined,
    region: env["S3_REGION"] || "us-east-1",
    accessKeyId: env["S3_ACCESS_KEY_ID"],
    secretAccessKey: env["S3_SECRET_ACCESS_KEY"],
  });
  return { store };
}
