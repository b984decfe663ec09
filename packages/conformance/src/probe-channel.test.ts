import { describe, expect, it } from "vitest";
import { serve } from "./clients/support/serve.js";
import { useProviders } from "./support/use-providers.js";

const providers = useProviders();

describe("gateway.probeChannel with the emulated providers", () => {
  it.each([
    ["ark", "seedream-4-0-250828", "doubao-seedream-4-0-250828"],
    ["dashscope", "image-max", "qwen-image-max"],
    ["dashscope", "image-edit-plus", "qwen-image-edit-plus"],
  ])(
    "makes an image on the channel %s with the model %s, and charges no caller",
    async (id, model, upstreamModel) => {
      const { gateway, records } = await serve(providers());
      const { ok, keys, ...probe } = await gateway.probeChannel(id, { model });
      expect({ ok, ...probe }).toEqual({ ok: true, channel: id, model, upstreamModel });
      expect(keys).toMatchObject([{ ok: true, index: 0, images: 1 }]);
      await gateway.close();
      expect(records).toEqual([]);
    },
  );

  it("reports why a key made no image and starts a cooldown, which a successful probe ends", async () => {
    const { gateway } = await serve(providers());
    providers().emulator.faults.add({ wrongKey: true, times: 1 });
    const model = "seedream-4-0-250828";
    expect(await gateway.probeChannel("ark", { model })).toMatchObject({
      ok: false,
      keys: [{ ok: false, reason: "credential", status: 401, code: "AuthenticationError" }],
    });
    const cooling = { state: "cooling", reason: "credential" };
    expect(gateway.status().channels).toContainEqual(expect.objectContaining({ id: "ark", ...cooling }));
    expect((await gateway.probeChannel("ark", { model })).ok).toBe(true);
    expect(gateway.status().channels).toContainEqual(expect.objectContaining({ id: "ark", state: "ready" }));
  });

  it("refuses an unknown channel and a model that the channel does not serve", async () => {
    const { gateway } = await serve(providers());
    await expect(gateway.probeChannel("nowhere")).rejects.toMatchObject({ code: "channel_not_found" });
    await expect(gateway.probeChannel("ark", { model: "image-max" })).rejects.toMatchObject({
      code: "model_not_found",
    });
  });
});
