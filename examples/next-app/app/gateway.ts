// One gateway for all routes of the app. Next.js may load a module once for each route; the global object is the same.
import { createGateway, type Gateway } from "@calotype/core";
import { createS3Store } from "@calotype/s3";

declare global {
  var calotypeGateway: Gateway | undefined;
}

/** What each user may spend. Each new account gets it, so an app with a real provider decides who may create one. */
export const BUDGET = "5";

export function getGateway(): Gateway {
  globalThis.calotypeGateway ??= createGateway({
    models: {
      "seedream-5-0-flash-260915": { family: "seedream" },
      "seedream-4-5-251128": { family: "seedream" },
    },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: process.env.ARK_API_KEY || "none",
        baseUrl: process.env.ARK_BASE_URL || undefined,
        modelMapping: { "seedream-*": "doubao-seedream-*" },
      },
    ],
    callers: [{ id: "default", key: process.env.CALOTYPE_API_KEY || undefined }],
    billing: {
      model_details: {
        "seedream-5-0-flash-260915": { pricing_mode: "per-request", model_price: "0.12" },
        "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" },
      },
    },
    // GET /v1/models shows the prices.
    showPrices: true,
    results: readResults(process.env),
    onUsage: (record) => console.log(JSON.stringify(record)),
  });
  return globalThis.calotypeGateway;
}

/** With S3_BUCKET, images are stored on S3 or a compatible service, and clients get presigned links to them. */
function readResults(env: NodeJS.ProcessEnv) {
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
