import { describe, expect, it } from "vitest";
import type { Caller } from "../types.js";
import { checkCaller } from "./check-caller.js";

const RULES = { hasBilling: true, canKeepPeriods: true };

describe("checkCaller", () => {
  it("refuses a budget without billing, which would have no effect", () => {
    expect(() => checkCaller({ id: "me", budget: "5" }, { hasBilling: false, canKeepPeriods: true })).toThrow(
      /wrong budget: it needs the option billing/,
    );
    expect(() => checkCaller({ id: "me" }, { hasBilling: false, canKeepPeriods: true })).not.toThrow();
  });

  it.each<Caller>([
    { id: "me" },
    { id: "me", group: "vip", models: [], responseFormat: "url", budget: 0, limits: {} },
    { id: "me", budget: "12.50", expiresAt: "2026-12-31T23:59:59Z" },
    { id: "me", expiresAt: new Date(0), limits: { requestsPerMinute: 1, imagesPerMinute: null } },
    { id: "x".repeat(512), group: "图".repeat(170) },
    { id: "me", group: undefined, models: undefined, budget: undefined, limits: { concurrent: undefined } },
  ])("accepts %j", (caller) => {
    expect(() => checkCaller(caller, RULES)).not.toThrow();
  });

  it("accepts additional fields of the operator", () => {
    const caller = { id: "me", tenant: 7 };
    expect(() => checkCaller(caller, RULES)).not.toThrow();
  });

  it.each<[string, unknown]>([
    ["id", {}],
    ["id", { id: "" }],
    ["id", { id: 7 }],
    ["id", "me"],
    ["id", true],
    ["id", { id: "x".repeat(513) }],
    ["id", { id: "图".repeat(171) }],
    ["id", { id: "a\0b" }],
    ["id", { id: "\ud800" }],
    ["group", { id: "me", group: "x".repeat(513) }],
    ["group", { id: "me", group: null }],
    ["group", { id: "me", group: "" }],
    ["models", { id: "me", models: null }],
    ["models", { id: "me", models: "image-*" }],
    ["models", { id: "me", models: [""] }],
    ["responseFormat", { id: "me", responseFormat: "base64" }],
    ["expiresAt", { id: "me", expiresAt: null }],
    ["expiresAt", { id: "me", expiresAt: "2026-12-31" }],
    ["expiresAt", { id: "me", expiresAt: new Date(Number.NaN) }],
    ["expiresAt", { id: "me", expiresAt: 1_795_253_400 }],
    ["budget", { id: "me", budget: null }],
    ["budget", { id: "me", budget: -1 }],
    ["budget", { id: "me", budget: "1e3" }],
    ["budget", { id: "me", budget: Number.NaN }],
    ["budget", { id: "me", budget: Infinity }],
    ["budget", { id: "me", budget: "ten" }],
    ["limits", { id: "me", limits: null }],
    ["limits", { id: "me", limits: [] }],
    ["limits", { id: "me", limits: 10 }],
    ["limits.requestsPerMinute", { id: "me", limits: { requestsPerMinute: 0 } }],
    ["limits.requestsPerMinute", { id: "me", limits: { requestsPerMinute: "10" } }],
    ["limits.imagesPerMinute", { id: "me", limits: { imagesPerMinute: 1.5 } }],
    ["limits.concurrent", { id: "me", limits: { concurrent: Infinity } }],
    ["limits.perMinute", { id: "me", limits: { perMinute: 10 } }],
  ])("blames the operator's function for the %s of %j", (field, caller) => {
    const check = () => checkCaller(caller as Caller, RULES);
    expect(check).toThrow(TypeError);
    expect(check).toThrow(new RegExp(`^authenticate returned .*\\b${field}: `));
  });
});
