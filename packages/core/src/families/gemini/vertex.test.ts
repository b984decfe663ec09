import { describe, expect, it } from "vitest";
import { createGateway } from "../../gateway.js";
import { gemini, vertex } from "./gemini.js";

describe("the address of Vertex AI", () => {
  it.each([
    ["global", "https://aiplatform.googleapis.com"],
    ["us-central1", "https://us-central1-aiplatform.googleapis.com"],
    ["eu", "https://aiplatform.eu.rep.googleapis.com"],
  ])("of %s is at %s", (location, origin) => {
    expect(vertex({ project: "shop-1", location })).toEqual({
      family: "gemini",
      dialect: "vertex",
      baseUrl: `${origin}/v1/projects/shop-1/locations/${location}/publishers/google`,
    });
  });

  it("keeps a project that belongs to a domain", () => {
    const { baseUrl } = vertex({ project: "example.com:shop", location: "global" });
    expect(new URL(baseUrl).pathname).toBe(
      "/v1/projects/example.com%3Ashop/locations/global/publishers/google",
    );
  });

  it.each([
    ["", "global", "project"],
    ["a/b", "global", "project"],
    ["shop", "", "location"],
    ["shop", "evil.example/", "location"],
    ["shop", "us-central1.evil", "location"],
  ])("is an error for the project %j and the location %j", (project, location, name) => {
    expect(() => vertex({ project, location })).toThrow(`The ${name} of Vertex AI cannot be`);
  });
});

const create = (channel: object) => () =>
  createGateway({
    families: [gemini],
    models: { "gemini-3-pro-image": { family: "gemini" } },
    channels: [{ id: "c", family: "gemini", apiKey: "k", ...channel }],
    callers: [{ id: "me", key: "caller-key-1" }],
  });

describe("a channel of Vertex AI", () => {
  it.each([
    ["without an address", { dialect: "vertex" }, "channels[0].baseUrl"],
    [
      "of another family",
      { ...vertex({ project: "p", location: "global" }), family: "seedream" },
      "channels[0].dialect",
    ],
  ])("is an error at startup %s", (_title, channel, path) => {
    expect(create(channel)).toThrow(path);
  });
});
