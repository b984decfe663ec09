import { GatewayError } from "@calotype/core";
import type { TaskQuery, WebhookFilter } from "@calotype/core/operator";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { TaskState, WebhookList } from "../wire.js";
import { type ApiRoute, explainMissing } from "./route.js";

/** How many messages are listed. */
const MAX_MESSAGES = 200;
const STATES: readonly TaskState[] = ["queued", "in_progress", "ended"];

export const TASK_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "tasks",
    role: "viewer",
    run: async ({ gateway }, { query }) => {
      const asked: TaskQuery = { state: STATES.find((state) => state === query.get("state")), limit: 200 };
      return respondWithJson(await explainMissing(() => gateway.tasks.list(asked)));
    },
  },
  {
    method: "POST",
    path: "tasks/:caller/:id/cancel",
    role: "admin",
    run: async ({ gateway }, { values: { caller = "", id = "" } }) =>
      respondWithJson(await explainMissing(() => gateway.tasks.cancel(caller, id))),
  },
  {
    method: "GET",
    path: "webhooks",
    role: "viewer",
    async run({ gateway }) {
      const [messages, disabled] = await explainMissing(() =>
        Promise.all([gateway.webhooks.list({}, MAX_MESSAGES), gateway.webhooks.listDisabled()]),
      );
      return respondWithJson({ messages, disabled } satisfies WebhookList);
    },
  },
  {
    method: "POST",
    path: "webhooks/replay",
    role: "admin",
    async run({ gateway }, { request }) {
      // The gateway checks each field.
      const filter = await readBody<WebhookFilter>(request);
      return respondWithJson({ messages: await explainMissing(() => gateway.webhooks.replay(filter)) });
    },
  },
  {
    method: "POST",
    path: "webhooks/enable",
    role: "admin",
    async run({ gateway }, { request }) {
      const { caller, endpoint } = await readBody(request);
      if (typeof caller !== "string" || typeof endpoint !== "string") {
        throw new GatewayError("invalid_request_error", "caller and endpoint must be strings.");
      }
      await explainMissing(() => gateway.webhooks.enable(caller, endpoint));
      return respondWithJson({});
    },
  },
];
