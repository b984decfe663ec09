import type { Provider } from "../provider.js";
import { randomHex } from "../random.js";
import { arkCodeForStatus, arkRefusal, renderArkRefusal } from "./errors.js";
import { generate } from "./generation.js";

/** Volcengine Ark (BytePlus ModelArk abroad) with the Seedream image models. */
export const ark: Provider = {
  name: "ark",
  basePath: "/api/v3/",
  generationPath: "/api/v3/images/generations",
  wrongKey: () => arkRefusal("AuthenticationError"),
  bodyTooLarge: () => arkRefusal("InvalidParameter", "The request body is too large."),
  bodyNotJson: () => arkRefusal("InvalidParameter", "The request body is not a valid JSON object."),
  createRequestId: ({ settings, random }) => `02${settings.now()}${randomHex(random, 32)}`,
  acceptedKeys: ({ settings }) => settings.arkApiKeys,
  codeForStatus: arkCodeForStatus,
  renderRefusal: renderArkRefusal,
  renderNotFound: () => new Response(null, { status: 404 }),
  generate,
};
