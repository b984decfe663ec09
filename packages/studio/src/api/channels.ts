import { GatewayError } from "@calotype/core";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { ApiRoute } from "./route.js";

export const CHANNEL_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "status",
    role: "viewer",
    run: async ({ gateway }) => respondWithJson(gateway.status()),
  },
  {
    method: "POST",
    path: "channels/:id/probe",
    role: "admin",
    async run({ gateway }, { request, values: { id = "" } }) {
      const { model } = await readBody(request);
      if (model !== undefined && typeof model !== "string") {
        throw new GatewayError("invalid_request_error", "model must be a string.", { param: "model" });
      }
      return respondWithJson(await gateway.probeChannel(id, { model }));
    },
  },
];
