import { GatewayError } from "@calotype/core";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { ChannelPlan, PauseRequest } from "../wire.js";
import type { ApiRoute, StudioGateway } from "./route.js";

/** Who makes the changes, in the log and in the state of a paused channel. */
const BY = "studio";

export const CHANNEL_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "status",
    role: "viewer",
    run: async ({ gateway }) => respondWithJson(await gateway.checkStatus()),
  },
  {
    method: "GET",
    path: "channels/:id/plan",
    role: "admin",
    run: async ({ gateway }, { values: { id = "" } }) => respondWithJson(await planFor(gateway, id)),
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
  {
    method: "POST",
    path: "channels/:id/pause",
    role: "admin",
    async run({ gateway }, { request, values: { id = "" } }) {
      // The gateway checks each field.
      const { seconds, note } = await readBody<PauseRequest>(request);
      return respondWithJson(await gateway.pauseChannel(id, { seconds, note, by: BY }));
    },
  },
  {
    method: "POST",
    path: "channels/:id/resume",
    role: "admin",
    async run({ gateway }, { request, values: { id = "" } }) {
      await readBody(request);
      return respondWithJson(await gateway.resumeChannel(id, { by: BY }));
    },
  },
];

/** @throws GatewayError `channel_not_found` */
async function planFor(gateway: StudioGateway, id: string): Promise<ChannelPlan> {
  const probe = await gateway.estimateProbe(id);
  const { channels } = await gateway.checkStatus();
  const others = channels.filter((other) => other.id !== id && other.state !== "paused");
  const estimates = await Promise.all(others.map((other) => gateway.estimateProbe(other.id)));
  const served = new Set(estimates.flatMap(namesOf));
  return { probe, only: namesOf(probe).filter((name) => !served.has(name)) };
}

/** The names and series of the models that a channel serves. */
function namesOf({ models, series }: ChannelPlan["probe"]): readonly string[] {
  return [...models.map(({ model }) => model), ...series];
}
