// The folder of this file is the gateway's base path: here the root, so that OpenAI clients take
// http://localhost:8787/v1 as base URL. In an app with more pages it would be app/ai/[...path]/route.ts, and the base URL
// would end in /ai/v1.
import { toNextHandlers } from "@calotype/next";
import { findUser } from "../auth.ts";
import { BUDGET, getGateway } from "../gateway.ts";

export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(getGateway, {
  /** Finds the user of a request without a key: one from a page of this app. */
  async caller({ headers }) {
    const user = await findUser(headers);
    if (user === undefined) return null;
    return { id: user.id, budget: BUDGET, limits: { requestsPerMinute: 20, concurrent: 2 } };
  },
});
