import { GatewayError, isGatewayError } from "@calotype/core";
import type { GatewayRequest } from "@calotype/core/adapter";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { ChannelFacts, ChannelPlan, PauseRequest, RecordedError, RecordedErrors } from "../wire.js";
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
    path: "channels",
    role: "viewer",
    run: async ({ gateway }, { request: { signal } }) => respondWithJson(await listFacts(gateway, signal)),
  },
  {
    method: "GET",
    path: "channels/:id/errors",
    role: "viewer",
    async run({ gateway }, { request: { signal }, values: { id = "" } }) {
      const errors = (await readErrors(gateway, signal)).get(id) ?? [];
      const body: RecordedErrors = { errors: errors.slice(0, MAX_ERRORS) };
      return respondWithJson(body);
    },
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

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** What each channel is configured for, with the totals of its last 24 whole hours and its last error. */
async function listFacts(
  gateway: StudioGateway,
  signal: GatewayRequest["signal"],
): Promise<readonly ChannelFacts[]> {
  const end = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  const [from, to] = [end - DAY_MS, end].map((time) => new Date(time).toISOString());
  const [channels, errors, days] = await Promise.all([
    gateway.listChannels(),
    readErrors(gateway, signal),
    withoutTotals(() =>
      gateway.usage.series({ from: from ?? "", to: to ?? "", by: "channel", limit: 1_000 }, { signal }),
    ),
  ]);
  return channels.map((channel) => {
    const day = days?.lines.find(({ key }) => key === channel.id)?.sums;
    const lastError = errors.get(channel.id)?.[0];
    return {
      ...channel,
      ...(day !== undefined && { day }),
      ...(lastError !== undefined && { lastError }),
    };
  });
}

/** How many of the newest records are searched for failed attempts. */
const MAX_READ = 500;
const MAX_ERRORS = 10;

/** The failed attempts of each channel in the newest records, the newest first: also of other processes, and before a restart. */
async function readErrors(
  gateway: StudioGateway,
  signal: GatewayRequest["signal"],
): Promise<ReadonlyMap<string, readonly RecordedError[]>> {
  const page = await withoutTotals(() => gateway.usage.page({ limit: MAX_READ }, { signal }));
  const errors = (page?.records ?? []).flatMap((record) => {
    if (record.state !== "settled") return [];
    const { id, time, upstreamModel, attempts = [] } = record;
    return attempts.flatMap(({ channel, status, code, key, beganAt, durationMs }) => {
      if (code === undefined) return [];
      const endedAt = beganAt === undefined ? time : new Date(beganAt + durationMs).toISOString();
      const error: RecordedError = {
        time: endedAt,
        ...(status !== undefined && { status }),
        code,
        upstreamModel,
        key,
        requestId: id,
      };
      return [{ channel, error }];
    });
  });
  const newest = errors.toSorted((one, other) => (one.error.time < other.error.time ? 1 : -1));
  return new Map(
    [...Map.groupBy(newest, ({ channel }) => channel)].map(([channel, own]) => [
      channel,
      own.map(({ error }) => error),
    ]),
  );
}

/** What is read from totals; `undefined` if the ledger keeps none. */
async function withoutTotals<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (cause) {
    if (isGatewayError(cause) && cause.code === "no_totals") return undefined;
    throw cause;
  }
}

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
