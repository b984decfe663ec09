import { healthIdsOf } from "./channels/channel.js";
import { type Configuration, configure } from "./configuration.js";
import type { Dependencies } from "./dependencies.js";
import { createLastingParts, type LastingParts } from "./lasting-parts.js";
import { createMaintenance, type Maintenance } from "./maintenance.js";
import { checkFixedOptions } from "./options/check-options.js";
import { loadOptions } from "./options/load-options.js";
import type { GatewayOptions } from "./options/options.js";
import type { PipelineParts } from "./pipeline.js";
import { createReloadable, type Reloadable } from "./reloadable.js";
import { createUnderWay, type UnderWay } from "./under-way.js";

/** The parts of a gateway, joined. */
export interface Wiring {
  /** What it keeps for its life. */
  readonly lasting: LastingParts;
  /** What is made of the options, which may be read anew. */
  readonly wired: Reloadable<PipelineParts & Configuration>;
  readonly underWay: UnderWay;
  readonly maintenance: Maintenance;
}

/**
 * Checks the options and joins the parts.
 *
 * @throws GatewayOptionsError for what is wrong with options that are there at once
 */
export function wireGateway(options: GatewayOptions, dependencies: Partial<Dependencies>): Wiring {
  const now = dependencies.now ?? Date.now;
  const first = configureFirst(options, now);
  const underWay = createUnderWay();
  const lasting = createLastingParts(options, dependencies, (work) => underWay.track(work));
  const wire = (configuration: Configuration): PipelineParts & Configuration => ({
    ...lasting,
    ...configuration,
    transport: configuration.maskTransport(lasting.transport),
  });
  const wired = createReloadable(
    first instanceof Promise ? first.then(wire) : wire(first),
    async () => wire(configure(await loadOptions(options), now)),
    ({ channels, models }) => {
      lasting.health.retain(healthIdsOf(channels));
      lasting.retryBudgets.retain(Object.keys(models));
    },
  );
  return { lasting, wired, underWay, maintenance: createMaintenance(lasting, dependencies.repeat) };
}

function configureFirst(options: GatewayOptions, now: () => number): Configuration | Promise<Configuration> {
  const loaded = loadOptions(options);
  if (!(loaded instanceof Promise)) return configure(loaded, now);
  // Where the check throws, nobody reads them.
  loaded.catch(() => undefined);
  checkFixedOptions(options);
  return loaded.then((read) => configure(read, now));
}
