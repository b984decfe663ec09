import { expect, it } from "vitest";
import { Base64Stage } from "./base64-stage.js";
import { ImageMarker } from "./image-marker.js";

it("passes a long string with many escaped quotes in an event in a moment", () => {
  const stage = new Base64Stage(
    {
      open: () => new ImageMarker({ hasSourceType: true, aigc: undefined }, undefined),
      decided: () => undefined,
      ended: () => undefined,
    },
    new Set(["b64_json"]),
  );
  const body = Buffer.from(`data: {"text":"${String.raw`\"`.repeat(400_000)}"}\n\n`);
  const begun = performance.now();
  const passed = Buffer.concat([...stage.push(body), ...stage.end()]);
  expect(performance.now() - begun).toBeLessThan(3_000);
  expect(Buffer.compare(passed, body)).toBe(0);
});
