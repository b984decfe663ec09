import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { askArk, askDashscope } from "../test-support/ask.js";
import { readUnder } from "../test-support/read-body.js";
import type { Fault } from "./fault.js";

function under(fault: Fault) {
  const emulator = createEmulator({ images: "tiny" });
  emulator.faults.add(fault);
  return emulator;
}

const absurd = { generated_images: "2", output_tokens: -7, total_tokens: 1e300, extra: null };

describe("a response", () => {
  it("succeeds without images", async () => {
    const ark = await askArk(under({ noImages: true }));
    expect(ark).toMatchObject({
      status: 200,
      body: { data: [], usage: { generated_images: 0, output_tokens: 0 } },
    });
    const { status, body } = await askDashscope(under({ noImages: true }), { parameters: { n: 2 } });
    expect([status, body.output.choices[0]?.message.content, body.usage?.output_image_count]).toEqual([
      200,
      [],
      0,
    ]);
  });

  it("streams without images", async () => {
    const { text } = await readUnder(createEmulator(), { noImages: true }, { stream: true });
    expect(text).toMatch(
      /^event: image_generation\.completed\ndata: .*"generated_images":0.*\n\ndata: \[DONE\]\n\n$/,
    );
  });

  it.each(["InternalServiceError", "OutputImageSensitiveContentDetected"] as const)(
    "succeeds with %s at its top level",
    async (code) => {
      const { status, body } = await askArk(under({ code, status: 200 }));
      const { body: plain } = await askArk(under({ code }));
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(["error"]);
      expect(body.error).toMatchObject({ code, type: plain.error.type });
    },
  );

  it("succeeds with DashScope's error at its top level", async () => {
    const { status, body } = await askDashscope(under({ code: "DataInspectionFailed", status: 200 }));
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["request_id", "code", "message"]);
  });

  it("carries usage of any type and size", async () => {
    expect((await askArk(under({ usage: absurd }))).body.usage).toStrictEqual(absurd);
    const { text } = await readUnder(createEmulator(), { usage: { generated_images: -1 } }, { stream: true });
    expect(text).toContain('"usage":{"generated_images":-1,"output_tokens":16384,"total_tokens":16384}');
    const usage = { image_count: "1", width: null };
    const dashscope = await askDashscope(under({ usage }), { model: "qwen-image-max" });
    expect(dashscope.body.usage).toStrictEqual({ width: null, height: 928, image_count: "1" });
  });

  it("does not change if the object of the fault changes later", async () => {
    const usage = { generated_images: 5 };
    const emulator = under({ usage });
    usage.generated_images = 6;
    expect((await askArk(emulator)).body.usage?.generated_images).toBe(5);
  });
});
