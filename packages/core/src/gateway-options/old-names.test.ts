import { describe, expect, it } from "vitest";
import { createGateway } from "../gateway.js";
import { GatewayOptionsError } from "../options/options-error.js";
import { OLD_NAMES } from "./old-names.js";
import type { GatewayOptions } from "./options.js";

const GOOD = {
  models: { "image-2*": { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
  callers: [{ id: "me", key: "secret" }],
};

/** Sets one value deep in a copy of the options, with the first model and the first channel for `*`. */
function withOption(pattern: string, value: unknown): GatewayOptions {
  const options = structuredClone<Record<string, unknown>>(GOOD);
  const path = pattern.split(".").map((key, at, keys) => {
    if (key !== "*") return key;
    return keys[at - 1] === "models" ? "image-2*" : "0";
  });
  let target: Record<string, unknown> = options;
  for (const key of path.slice(0, -1)) {
    target[key] ??= {};
    target = target[key] as Record<string, unknown>;
  }
  target[path.at(-1) ?? ""] = value;
  return options as unknown as GatewayOptions;
}

function problemsOf(options: GatewayOptions): readonly { path: string; message: string }[] {
  try {
    createGateway(options);
    return [];
  } catch (error) {
    if (error instanceof GatewayOptionsError) return error.problems;
    throw error;
  }
}

describe("an option under its old name", () => {
  it.each(Object.entries(OLD_NAMES))("%s fails at startup: it %s", (pattern, advice) => {
    const value = pattern === "models.*.limits" ? "seedream-4-0" : 1;
    const problems = problemsOf(withOption(pattern, value));
    const path = pattern.replace("models.*", 'models["image-2*"]').replace("channels.*", "channels[0]");
    expect(problems).toContainEqual({ path, message: advice });
  });

  it("gets no advice if another option has the same last name", () => {
    const problems = problemsOf(withOption("bodyLimits.maxAnswerBytes", 1));
    expect(problems).toEqual([{ path: "bodyLimits.maxAnswerBytes", message: "is not an option" }]);
  });
});
