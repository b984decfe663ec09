/**
 * Options that had another name in an earlier version, with the advice that follows the path in the error message. In
 * the paths, `*` stands for the name of a model or the index of a list.
 */
export const OLD_NAMES: Readonly<Record<string, string>> = {
  apiKeys: "is now called callers",
  callerLimits: "is now called limits",
  maxAnswerBytes: "is now called maxUpstreamResponseBytes",
  maxResponseBytes: "is now called maxUpstreamResponseBytes",
  "idempotency.maxAnswerBytes": "is now called maxResponseBytes",
  "models.*.callerLimits": "is now called limits",
  "models.*.capabilities.maxImages": "is now called imagesPerCall",
  "models.*.capabilities.maxLayers": "is now called layers: { max }",
  "models.*.limits":
    "must be an object of limits; the row of what the model can do is now called capabilities",
  "models.*.limits.size": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.references": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.maxImages": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.maxLayers": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.maxReferencesAndImages": "is now set in capabilities: models[…].limits contains rates",
  "channels.*.timeouts.connectMs": "is now called connectSeconds, in seconds",
  "channels.*.timeouts.firstByteMs": "is now called firstByteSeconds, in seconds",
  "channels.*.timeouts.idleMs": "is now called idleSeconds, in seconds",
};

/** Returns the advice for an option that is unknown or of a wrong type, if the path once had another meaning. */
export function findOldName(path: readonly PropertyKey[]): string | undefined {
  const isWild = (at: number): boolean => at === 1 && (path[0] === "models" || path[0] === "channels");
  const pattern = path.map((key, at) => (isWild(at) ? "*" : String(key))).join(".");
  return Object.hasOwn(OLD_NAMES, pattern) ? OLD_NAMES[pattern] : undefined;
}
