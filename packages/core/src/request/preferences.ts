import type { Caller, Preferences } from "../types.js";
import { CLIENT_PROFILES } from "./client-profiles.js";

/** Where preferences can be set. */
export interface PreferenceSources {
  readonly caller: Pick<Caller, keyof Preferences | "client">;
  readonly model: Preferences;
  readonly gateway: Preferences;
}

/** The preferences for a request: of the caller, of its client's profile, of the model, of the gateway, in this order. */
export function findPreferences({ caller, model, gateway }: PreferenceSources): Preferences {
  const profile: Preferences = caller.client === undefined ? {} : CLIENT_PROFILES[caller.client];
  return {
    responseFormat:
      caller.responseFormat ?? profile.responseFormat ?? model.responseFormat ?? gateway.responseFormat,
    streamFormat: caller.streamFormat ?? profile.streamFormat ?? model.streamFormat ?? gateway.streamFormat,
    sizes: caller.sizes ?? profile.sizes ?? model.sizes ?? gateway.sizes,
  };
}
