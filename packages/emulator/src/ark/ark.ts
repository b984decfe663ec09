import type { Provider } from "../provider.js";
import { randomHex } from "../random.js";
import { arkCodeForStatus, arkRefusal, renderArkRefusal } from "./errors.js";
import { generate } from "./generation.js";

/** Volcengine Ark (BytePlus ModelArk abroad) with the Seedream image models. */
export const ark: Provider = {
  name: "ark",
  basePaths: ["/api/v3/"],
  operations: [{ kind: "generation", method: "POST", path: /^images\/generations$/, respond: generate }],
  wrongKey: () => arkRefusal("AuthenticationError"),
  bodyTooLarge: () => arkRefusal("InvalidParameter", "The request body is too large."),
  bodyNotJson: () => arkRefusal("InvalidParameter", "The request body is not a valid JSON object."),
  createRequestId: ({ settings, random }) => `02${settings.now()}${randomHex(random, 32)}`,
  acceptedKeys: ({ settings }) => settings.arkApiKeys,
  codeForStatus: arkCodeForStatus,
  renderRefusal: renderArkRefusal,
  renderNotFound: () => new Response(null, { status: 404 }),
  headersOf: (requestId) => ({ "x-request-id": requestId }),
};
