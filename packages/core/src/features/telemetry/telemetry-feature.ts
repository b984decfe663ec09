import { findChannelStates } from "../../channels/channel-status.js";
import type { CallObservation } from "../../contract/observer.js";
import type { Telemetry } from "../../contract/telemetry.js";
import type { Feature } from "../../kernel/feature.js";
import { throwProblems } from "../../options/problems.js";
import { checkCallLog, createCallLog } from "./call-log.js";
import { createObservation } from "./observation.js";

/** The options of {@link telemetry}. Each means what it means for `createGateway`. */
export interface TelemetryOptions {
  /** Observes calls, for traces and metrics, see `@calotype/opentelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined;
  /** Whether the history of each call is written to `logger.info`. Default `false`. */
  readonly logCalls?: boolean | undefined;
}

/** Observes calls and channels, and writes the history of calls to the log. */
export function telemetry({ telemetry: given, logCalls = false }: TelemetryOptions): Feature {
  let observation: CallObservation | undefined;
  return {
    name: "telemetry",
    observe(logger, now) {
      throwProblems(checkCallLog({ logCalls, logger }));
      const telemetries = given === undefined ? [] : [given];
      // With the fields that the other telemetry adds.
      const write = (fields: object, message: string): void => observation?.logger.info?.(fields, message);
      if (logCalls) telemetries.push(createCallLog(write, now));
      observation = telemetries.length === 0 ? undefined : createObservation(telemetries, logger);
      return observation;
    },
    setup({ health, contributed, current }) {
      const observed = observation;
      if (observed === undefined) return {};
      let endWatch: (() => void) | undefined;
      return {
        chores: [
          {
            open() {
              endWatch = observed.watchChannels(() =>
                findChannelStates(current()?.channels ?? [], { health, pauses: contributed().pauses }),
              );
            },
            end: () => endWatch?.(),
          },
        ],
      };
    },
  };
}
