import { describe, expect, it, vi } from "vitest";
import { createLazyQuery } from "../testing/lazy-query.js";
import { loadOptions } from "./load.js";
import type { GatewayOptions } from "./options.js";

const MODELS = { a: { family: "seedream" } };
const CHANNELS = [{ id: "ark", family: "seedream", apiKey: "k" }];
const API_KEYS = [{ id: "me", key: "secret" }];
const DETAILS = { a: { pricing_mode: "per-request" as const, model_price: "1" } };
const RATIO = { default: "1" };
const PLAIN = {
  models: MODELS,
  channels: CHANNELS,
  callers: API_KEYS,
  billing: { model_details: DETAILS, group_ratio: RATIO, onLost: "charge" as const },
} satisfies GatewayOptions;

const queryOf = <T>(read: () => T): Promise<T> => createLazyQuery(read) as Promise<T>;

describe("options are read", () => {
  it("synchronously if none of the functions returns a promise", () => {
    const options = {
      models: () => MODELS,
      channels: CHANNELS,
      callers: () => API_KEYS,
      billing: { model_details: () => DETAILS, group_ratio: () => RATIO, onLost: "charge" as const },
      heartbeatSeconds: 5,
    };
    expect(loadOptions(options)).toEqual({ ...PLAIN, heartbeatSeconds: 5 });
  });

  it.each<[string, Partial<GatewayOptions>]>([
    ["models", { models: async () => MODELS }],
    ["channels", { channels: async () => CHANNELS }],
    ["keys", { callers: async () => API_KEYS }],
    ["prices", { billing: { ...PLAIN.billing, model_details: async () => DETAILS } }],
    ["ratios", { billing: { ...PLAIN.billing, group_ratio: async () => RATIO } }],
    ["models of a lazy query", { models: () => queryOf(() => MODELS) }],
    [
      "prices of a lazy query",
      { billing: { ...PLAIN.billing, model_details: () => queryOf(() => DETAILS) } },
    ],
    ["models that are a promise themselves", { models: Promise.resolve(MODELS) as never }],
  ])("later if these return promises: %s", async (_what, changed) => {
    const loaded = loadOptions({ ...PLAIN, ...changed });
    expect(loaded).toBeInstanceOf(Promise);
    expect(await loaded).toEqual(PLAIN);
  });

  it("all at the same time", async () => {
    const begun: string[] = [];
    const slowly = (name: string) => () => {
      begun.push(name);
      return new Promise<never>(() => {});
    };
    void loadOptions({
      models: slowly("models"),
      channels: slowly("channels"),
      callers: slowly("keys"),
      billing: { model_details: slowly("prices"), group_ratio: slowly("ratios") },
    });
    expect(begun).toEqual(["models", "channels", "keys", "prices", "ratios"]);
  });

  it.each([null, undefined, "options", 7])("unchanged if they are not an object: %s", (options) => {
    expect(loadOptions(options as unknown as GatewayOptions)).toBe(options);
  });

  it.each([null, "free", undefined])("with unchanged billing if it is not an object: %s", (billing) => {
    expect(loadOptions({ ...PLAIN, billing: billing as never })).toMatchObject({ models: MODELS, billing });
  });

  it("with functions alone that may be functions", () => {
    const authenticate = vi.fn<() => null>(() => null);
    void loadOptions({ ...PLAIN, callers: undefined, authenticate });
    expect(authenticate).not.toHaveBeenCalled();
  });
});

describe("an error of a function", () => {
  it("is thrown at once, and a promise of another one that fails crashes nothing", async () => {
    const options: GatewayOptions = {
      ...PLAIN,
      models: () => Promise.reject(new Error("first")),
      channels: () => {
        throw new Error("second");
      },
    };
    expect(() => loadOptions(options)).toThrow("second");
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setTimeout(resolve));
  });

  it("is the rejection of the promise", async () => {
    await expect(loadOptions({ ...PLAIN, callers: () => Promise.reject(new Error("gone")) })).rejects.toThrow(
      "gone",
    );
  });

  it("without an unhandled rejection if one function fails while another is slow", async () => {
    const options = {
      ...PLAIN,
      models: () => new Promise<typeof MODELS>((resolve) => setTimeout(() => resolve(MODELS), 20)),
      billing: { model_details: () => Promise.reject(new Error("The prices are away.")) },
    };
    // vitest reports rejections that nothing handles.
    await expect(loadOptions(options)).rejects.toThrow("The prices are away.");
  });
});
