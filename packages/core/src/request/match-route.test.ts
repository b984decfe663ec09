import { describe, expect, it } from "vitest";
import { createRouteMatcher } from "./match-route.js";

describe("createRouteMatcher", () => {
  const atRoot = createRouteMatcher("");
  const underAi = createRouteMatcher("/ai");

  it.each([
    "/v1/images/generations",
    "/v1/images/generations?api-version=1",
    "/v1/images/generations#x",
    "/v1/images/generations?x=/?#",
    "http://localhost/v1/images/generations",
    "https://user@example.com:8443/v1/images/generations?x",
  ])("takes %s", (url) => {
    expect(atRoot(url)).toBe("generate");
    expect(underAi(url)).toBeUndefined();
    expect(underAi(url.replace("/v1", "/ai/v1"))).toBe("generate");
  });

  it.each([
    "",
    "/",
    "*",
    "?",
    "/v1/images/generations/",
    "/v1/images/generation",
    "//v1/images/generations",
    "/V1/images/generations",
    "/v1/images%2Fgenerations",
    "/v1/../v1/images/generations",
    "/x/v1/images/generations",
    "http://localhost",
    "http://localhost/",
    "http://localhost?x=/v1/images/generations",
    "http://localhost#/v1/images/generations",
    "/?/v1/images/generations",
  ])("leaves %j to the host", (url) => {
    expect(atRoot(url)).toBeUndefined();
  });
});
