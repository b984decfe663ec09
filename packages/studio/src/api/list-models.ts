import type { GatewayRequest } from "@calotype/core/adapter";
import type { ModelEntry } from "../wire.js";
import type { StudioGateway } from "./route.js";

/** The models of `GET /v1/models`, as a caller without restrictions sees them. Empty if they cannot be listed. */
export async function listModels(
  gateway: StudioGateway,
  signal: GatewayRequest["signal"],
): Promise<readonly ModelEntry[]> {
  const asked: GatewayRequest = {
    method: "GET",
    url: `${gateway.basePath}/v1/models`,
    mountPath: "/",
    headers: new Headers(),
    body: null,
    signal,
    caller: { id: "studio" },
  };
  const { status, body } = await (gateway.handle(asked) ?? gateway.notFound(asked));
  if (status !== 200 || typeof body !== "string") return [];
  const { data }: { readonly data: readonly ModelEntry[] } = JSON.parse(body);
  return data;
}
