import { describe, expect, it } from "vitest";
import { startCpuClock } from "../testing/cpu-clock.js";
import { toReferenceImage } from "./reference-image.js";

const TYPES = new Set(["image/png", "image/jpeg"]);
const read = (value: string): string => toReferenceImage(value, "image[1]", TYPES);

describe("toReferenceImage accepts", () => {
  it.each([
    "https://example.com/a.png",
    "http://example.com",
    "HTTPS://EXAMPLE.COM/A.PNG?x=1#y",
    "https://user:password@例え.jp:8443/ü.png",
    "http://[::1]/a",
  ])("%s unchanged", (url) => {
    expect(read(url)).toBe(url);
  });

  it.each([
    ["data:image/png;base64,AAAA", "data:image/png;base64,AAAA"],
    ["DATA:IMAGE/PNG;BASE64,AbC+", "data:image/png;base64,AbC+"],
    ["data:Image/Jpeg;base64,+/==", "data:image/jpeg;base64,+/=="],
    ["data:image/png;base64,A=", "data:image/png;base64,A="],
  ])("%s as %s", (url, taken) => {
    expect(read(url)).toBe(taken);
  });
});

describe("toReferenceImage refuses", () => {
  it.each([
    ["", /must be a public http/],
    ["image.png", /must be a public http/],
    ["/etc/passwd", /must be a public http/],
    ["file:///etc/passwd", /must be a public http/],
    ["ftp://example.com/a", /must be a public http/],
    ["oss://bucket/a", /must be a public http/],
    ["javascript:alert(1)", /must be a public http/],
    ["https:/example.com", /must be a public http/],
    ["https://", /must be a public http/],
    ["https://exa mple.com", /must be a public http/],
    ["http://[::1", /must be a public http/],
    [" https://example.com", /must be a public http/],
    ["data:", /must have the form/],
    ["data:image/png,AAAA", /must have the form/],
    ["data:image/png;charset=x;base64,AAAA", /must have the form/],
    ["data:;base64,AAAA", /must have the form/],
    ["data:image/;base64,AAAA", /must have the form/],
    [`data:image/${"x".repeat(200)};base64,AAAA`, /must have the form/],
    ["data:image/gif;base64,AAAA", /image\/gif; send one of image\/png, image\/jpeg/],
    ["data:text/html;base64,AAAA", /text\/html/],
    ["data:image/png;base64,", /not base64/],
    ["data:image/png;base64,=", /not base64/],
    ["data:image/png;base64,A===", /not base64/],
    ["data:image/png;base64,AA=A", /not base64/],
    ["data:image/png;base64,AA AA", /not base64/],
    ["data:image/png;base64,AA\nAA", /not base64/],
    ["data:image/png;base64,AAAA\n", /not base64/],
    ["data:image/png;base64,AA-_", /not base64/],
    ["data:image/png;base64,雪", /not base64/],
  ])("%j", (value, message) => {
    expect(() => read(value)).toThrow(
      expect.objectContaining({ status: 400, param: "image[1]", message: expect.stringMatching(message) }),
    );
  });

  it("without quoting the image", () => {
    const value = `data:image/png;base64,${"A".repeat(100)}!`;
    expect(() => read(value)).toThrow(/^[^A]{0,20}image\[1\].{0,60}$/);
  });
});

describe("an image of 60 MB", () => {
  const content = "A".repeat(60_000_000);

  it.each([
    ["a good data URL", `data:image/png;base64,${content}`],
    ["a data URL with a bad end", `data:image/png;base64,${content}!`],
    ["a data URL of equals signs", `data:image/png;base64,${"=".repeat(60_000_000)}`],
    ["a link", `https://example.com/${content}`],
    ["a link of spaces", `https://example.com/${" ".repeat(60_000_000)}`],
    ["no URL at all", content],
  ])("as %s is checked within two seconds", (_what, value) => {
    const cpuMs = startCpuClock();
    try {
      read(value);
    } catch {
      // A refusal is as good a response.
    }
    expect(cpuMs()).toBeLessThan(2_000);
  });
});
