import { isSource } from "../../gateway-options/load.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import type { Feature } from "../../kernel/feature.js";
import type { Loadable, OptionSource } from "../../options/options.js";

/** What {@link reloading} adds to a gateway. */
export interface ReloadingApi {
  /**
   * Calls the options that were given as functions again, and uses the results if all of them are valid. Requests in
   * progress keep the options they began with. Called once after the start, it also shows whether such options are
   * valid.
   *
   * @throws GatewayOptionsError, or what a function threw; then nothing changes
   */
  reload(): Promise<void>;
  /** True if options were given as functions, such as `jsonFile(…)` of `@calotype/node`: `reload` reads them again. */
  readonly isReloadable: boolean;
}

/**
 * Reloads the options when a function among them says that its option has changed. If the reload fails, the log says why once,
 * and the gateway keeps the options that it has.
 */
export function reloading(options: GatewayOptions): Feature<ReloadingApi> {
  return {
    name: "reloading",
    setup({ reload, logger, isClosing }) {
      const sources = listSources(options);
      let ends: readonly ((() => void) | undefined)[] = [];
      const onChange = (): void => {
        if (isClosing()) return;
        reload().catch((error: unknown) => {
          logger.error({ err: error }, "Changed options were not used; the gateway keeps those that it has.");
        });
      };
      return {
        chores: [
          {
            open() {
              ends = sources.map(({ watch }) => watch?.(onChange));
            },
            stop() {
              for (const end of ends) end?.();
            },
          },
        ],
        api: { reload, isReloadable: sources.length > 0 },
      };
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
