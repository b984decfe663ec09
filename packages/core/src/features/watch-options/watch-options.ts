import { isSource } from "../../gateway-options/load.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import type { Logger } from "../../logger.js";
import type { Loadable, OptionSource } from "../../options/options.js";

/** The options that were given as functions. */
export interface WatchedOptions {
  /** True if there are such options, so that a reload can change something. */
  readonly isReloadable: boolean;
  /** Ends the watches. No reload begins after that. */
  stop(): void;
}

/**
 * Reloads the options when a function among them says that its option has changed. If the reload fails, the log says why once,
 * and the gateway keeps the options that it has.
 */
export function watchOptions(
  options: GatewayOptions,
  reload: () => Promise<void>,
  logger: Logger,
): WatchedOptions {
  const sources = listSources(options);
  let isStopped = false;
  const onChange = (): void => {
    if (isStopped) return;
    reload().catch((error: unknown) => {
      logger.error({ err: error }, "Changed options were not used; the gateway keeps those that it has.");
    });
  };
  const ends = sources.map(({ watch }) => watch?.(onChange));
  return {
    isReloadable: sources.length > 0,
    stop() {
      isStopped = true;
      for (const end of ends) end?.();
    },
  };
}

/** The functions among the options, each once: two options may share one. */
function listSources({
  models,
  channels,
  callers,
  webhooks,
  billing,
}: GatewayOptions): OptionSource<unknown>[] {
  const options = [models, channels, callers, webhooks, billing?.model_details, billing?.group_ratio];
  return [...new Set<Loadable<unknown>>(options)].filter((option) => isSource(option));
}
