import { describe, expect, it } from "vitest";
import { type Channel, createChannel } from "../channels/channel.js";
import { seedream } from "../families/seedream/seedream.js";
import { createModelResolver, type ModelResolver } from "./resolve-model.js";

interface Counted {
  readonly resolve: ModelResolver;
  /** The number of lookups in channels. */
  readonly asked: () => number;
}

/** Each channel serves one exact model and one model of a series. */
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

describe("with five hundred channels, the resolver", () => {
  it.each([
    ["a model", "exact-7", "generate", "c7"],
    ["a model of a series after its first request", "series-7", "generate", "c7"],
    ["a provider's name after its first request", "ep-7", "native", "c7"],
  ] as const)("finds %s without a lookup", (_what, model, operation, id) => {
    const { resolve, asked } = createCounted(500);
    resolve(model, { id: "me" }, operation);
    const before = asked();
    for (let requests = 0; requests < 10; requests++) {
      expect(resolve(model, { id: "me" }, operation).channels.map((channel) => channel.id)).toEqual([id]);
    }
    expect(asked()).toBe(before);
  });

  it("looks in each channel once for a name that no channel serves", () => {
    const { resolve, asked } = createCounted(500);
    const before = asked();
    expect(() => resolve("series-x", { id: "me" }, "generate")).toThrow("The model series-x does not exist.");
    expect(asked() - before).toBe(500);
  });

  it("looks in no channel for a name that is not a model", () => {
    const { resolve, asked } = createCounted(500);
    const before = asked();
    expect(() => resolve("other", { id: "me" }, "generate")).toThrow("The model other does not exist.");
    expect(asked()).toBe(before);
  });
});
