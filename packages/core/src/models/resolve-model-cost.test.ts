import { describe, expect, it } from "vitest";
import { type Channel, createChannel } from "../channels/channel.js";
import { seedream } from "../families/seedream/seedream.js";
import { createModelResolver, type ModelResolver } from "./resolve-model.js";

interface Counted {
  readonly resolve: ModelResolver;
  /** How often a channel was asked whether it serves a name. */
  readonly asked: () => number;
}

/** Channels of which each serves one exact model and one of a series. */
function createCounted(count: number): Counted {
  let asked = 0;
  const names = Array.from({ length: count }, (_, index) => index);
  const channels = names.map((index): Channel => {
    const modelMapping = { [`exact-${index}`]: `ep-${index}`, [`series-${index}`]: `ep-series-${index}` };
    const channel = createChannel(
      { id: `c${index}`, family: "seedream", apiKey: "k", modelMapping },
      seedream,
    );
    return {
      ...channel,
      toUpstreamModel(model) {
        asked++;
        return channel.toUpstreamModel(model);
      },
      findServiceModels(upstreamModel) {
        asked++;
        return channel.findServiceModels(upstreamModel);
      },
    };
  });
  const models = {
    ...Object.fromEntries(names.map((index) => [`exact-${index}`, { family: "seedream" }])),
    "series-*": { family: "seedream" },
  };
  const resolve = createModelResolver({ models }, new Map([["seedream", seedream]]), channels);
  return { resolve, asked: () => asked };
}

describe("among five hundred channels", () => {
  it.each([
    ["a model by its name", "exact-7", "generate", "c7"],
    ["a model of a series, once it was asked for", "series-7", "generate", "c7"],
    ["an identifier of the provider's, once it was asked for", "ep-7", "native", "c7"],
  ] as const)("finds %s without asking any", (_what, model, operation, id) => {
    const { resolve, asked } = createCounted(500);
    resolve(model, { id: "me" }, operation);
    const before = asked();
    for (let requests = 0; requests < 10; requests++) {
      expect(resolve(model, { id: "me" }, operation).channels.map((channel) => channel.id)).toEqual([id]);
    }
    expect(asked()).toBe(before);
  });

  it("asks each once for a name that none of them serves", () => {
    const { resolve, asked } = createCounted(500);
    const before = asked();
    expect(() => resolve("series-x", { id: "me" }, "generate")).toThrow("The model series-x does not exist.");
    expect(asked() - before).toBe(500);
  });

  it("asks none for a name that is no model's", () => {
    const { resolve, asked } = createCounted(500);
    const before = asked();
    expect(() => resolve("other", { id: "me" }, "generate")).toThrow("The model other does not exist.");
    expect(asked()).toBe(before);
  });
});
