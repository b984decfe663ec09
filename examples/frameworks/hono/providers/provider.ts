import type { ChannelOptions, ModelOptions } from "@calotype/core";
import type { ModelDetails } from "@calotype/core/billing";
import type { Family } from "@calotype/core/families";

/** What a file of this folder exports. */
export interface Provider {
  /** Absent if the family is built in. */
  readonly family?: Family;
  /** Your model names, which clients send. */
  readonly models: Readonly<Record<string, ModelOptions>>;
  /** The variables of the environment that the channel needs. */
  readonly variables: readonly string[];
  /** Your account at the provider. */
  readonly channel: ChannelOptions;
  /** What your callers pay. A price is needed for each model, or its images cost nothing. */
  readonly prices: Readonly<Record<string, ModelDetails>>;
}
