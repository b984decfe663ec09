import { describe, expect, it } from "vitest";
import { createKeyRedaction, createSecretRedaction, findSecrets } from "./redact.js";
import { startCpuClock } from "./testing/cpu-clock.js";

describe("createSecretRedaction", () => {
  it.each([
    ["a given secret", ["5f4dcc3b-5aa7"], "key 5f4dcc3b-5aa7 is wrong", "key *** is wrong"],
    ["a secret at every place", ["s3cret-8"], "s3cret-8s3cret-8 and s3cret-8", "****** and ***"],
    ["a secret that begins with another one", ["abcdefgh", "abcdefghijkl"], "key abcdefghijkl.", "key ***."],
    ["a secret of signs that regular expressions know", ["a.*$&(b+c"], "key a.*$&(b+c!", "key ***!"],
    ["what looks like a key", [], "Incorrect key sk-abcdefgh12345.", "Incorrect key ***."],
    ["what looks like a key of ours", [], `Got cal-${"aZ".repeat(21)}9.`, "Got ***."],
    ["a bearer token", [], "sent Bearer abc.def-ghi_jkl=", "sent ***"],
    ["a bearer token in any case", [], "sent BEARER   0123456789", "sent ***"],
  ])("takes out %s", (_what, secrets, text, redacted) => {
    expect(createSecretRedaction(secrets)(text)).toBe(redacted);
  });

  it.each([
    "image size must be at least 3686400 pixels",
    "a risk-free task-oriented bearer",
    "sk-short",
    "cal-image-generation-model-of-a-very-long-name-indeed",
    "",
  ])("leaves %j alone", (text) => {
    expect(createSecretRedaction(["s3cret-8"])(text)).toBe(text);
  });

  it("leaves the words alone that hold a placeholder key", () => {
    expect(createSecretRedaction(["none", "k"])("There is none known.")).toBe("There is none known.");
  });

  it.each([
    ["spaces after Bearer", `Bearer${" ".repeat(1_000_000)}`],
    ["many Bearers", "Bearer ".repeat(150_000)],
    ["half a key", `sk-${"-".repeat(1_000_000)}!`],
    ["many halves", "sk-a ".repeat(200_000)],
  ])("takes a megabyte of %s in no time", (_what, text) => {
    const cpuMs = startCpuClock();
    createSecretRedaction(["s3cret-8"])(text);
    expect(cpuMs()).toBeLessThan(500);
  });
});

describe("createKeyRedaction", () => {
  it("takes out the given secrets, and leaves a model's name alone that looks like a key", () => {
    const redact = createKeyRedaction(["s3cret-8-long"]);
    expect(redact("The model ark-seedream-4-5 is not s3cret-8-long.")).toBe(
      "The model ark-seedream-4-5 is not ***.",
    );
  });
});

describe("findSecrets", () => {
  it.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
    ["a header whose name says so", { "x-proxy-token": "tok-12345" }, ["tok-12345"]],
    ["a key without digits", { "api-key": "abcdefgh" }, ["abcdefgh"]],
    [
      "the credential after its scheme",
      { "proxy-authorization": "Basic dXNlcjpwYXNz0" },
      ["Basic dXNlcjpwYXNz0", "dXNlcjpwYXNz0"],
    ],
    [
      "the values of cookies",
      { cookie: "sid=4f9a1c2e77; theme=dark" },
      ["sid=4f9a1c2e77; theme=dark", "sid=4f9a1c2e77", "4f9a1c2e77"],
    ],
    ["a value that looks random", { "x-corp": "4f9a1c2e77aa03bd" }, ["4f9a1c2e77aa03bd"]],
    [
      "a UUID",
      { "x-account": "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99" },
      ["5f4dcc3b-5aa7-65d6-1d83-27deb882cf99"],
    ],
    ["a region", { "x-region": "tos-cn-beijing" }, []],
    ["a model", { "x-model": "doubao-seedream-4-5-251128" }, []],
    ["a user agent", { "user-agent": "my-image-gateway/1.0" }, []],
    ["a flag", { "x-flag": "1", "x-auth": "1" }, []],
    ["a number", { "x-token": "16384", "x-key": "1763683200" }, []],
  ])("of headers: %s", (_what, headers, secrets) => {
    expect(findSecrets([], headers).toSorted()).toEqual(secrets.toSorted());
  });

  it("of keys: all except placeholders, each once", () => {
    expect(findSecrets(["k", "none", "sk-12345", "sk-12345", "12345678", "12345678901234567"], {})).toEqual([
      "sk-12345",
      "12345678901234567",
    ]);
  });
});
