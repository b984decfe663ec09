import { applyBodyFault } from "../faults/apply-body-fault.js";
import { ConnectionCut } from "../faults/connection-cut.js";
import type { ProviderName } from "../provider-name.js";
import { createRandom, randomSeed } from "../random.js";
import type { Services } from "../services.js";
import { hangUntilAborted, sleep } from "../sleep.js";
import { serveLink, storeError } from "./links.js";

/** Serves a result link to a client, with the faults for `operation: "link"`. */
export async function handleLink(
  request: Request,
  provider: ProviderName,
  services: Services,
): Promise<Response> {
  const fault = services.faults.take(provider, { model: undefined, operation: "link" });
  await sleep(fault.latencyMs ?? 0, request.signal);
  if (fault.hang === true) return hangUntilAborted(request.signal);
  if (fault.hangUp === true) throw new ConnectionCut("fetch failed");
  if (fault.emptyBody === true) return new Response(null, { status: fault.status ?? 200 });
  const response =
    fault.status === undefined
      ? await serveLink(request, provider, services)
      : storeError(fault.status, fault.code ?? "InternalError", fault.message);
  if (fault.body === undefined) return response;
  return applyBodyFault(response, fault.body, {
    request,
    random: createRandom(randomSeed(services.faultRandom)),
  });
}
