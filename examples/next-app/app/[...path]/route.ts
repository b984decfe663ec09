// The folder of this file is the gateway's base path: here the root, so that OpenAI clients take
// http://localhost:8787/v1 as base URL. In an app with pages of its own it would be app/ai/[...path]/route.ts,
// and the base URL would end in /ai/v1. `readOptions` takes the options from the environment; write yours here.
import { createGateway } from "@calotype/core";
import { type Environment, readOptions } from "@calotype/example-options";
import { toNextHandlers } from "@calotype/next";
import { createS3Store } from "@calotype/s3";

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(() =>
  createGateway({ results: readResults(process.env), ...readOptions(process.env) }),
);

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
