import { describe, expect, it } from "vitest";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import { type AdapterHost, OWN_RESPONSE } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const CALL = jsonCall(SEEDREAM_BODY);

/** A mount path of the host counts as a base path. */
export function describeMountPaths(host: AdapterHost, providers: () => Providers): void {
  describe("below a mount path of the host", () => {
    it.each([
      { at: "/ai", basePath: undefined, path: "/ai/v1/images/generations" },
      { at: "/ai/", basePath: undefined, path: "/ai/v1/images/generations" },
      { at: "/ai", basePath: "/ai", path: "/ai/v1/images/generations" },
      { at: "/ai", basePath: "/pictures", path: "/ai/pictures/v1/images/generations" },
      { at: "/", basePath: "/ai", path: "/ai/v1/images/generations" },
      { at: "/x/v1", basePath: undefined, path: "/x/v1/images/generations" },
      { at: "/v1/images", basePath: undefined, path: "/v1/images/generations/" },
    ])("mounted at $at with the base path $basePath it serves $path", async ({ at, basePath, path }) => {
      const { gateway } = startGateway(providers(), { basePath });
      const { send } = await mountFor(host, gateway, { at });

      expect((await send({ ...CALL, path })).status).toBe(200);
      expect(providers().emulator.requests).toHaveLength(1);
    });

    it("responds to unknown paths below its own with a 404 that names the whole path", async () => {
      const { gateway } = startGateway(providers());
      const { send } = await mountFor(host, gateway, { at: "/ai" });

      const { status, text } = await send({ ...CALL, path: "/ai/v1/images/variations" });
      const beside = await send({ ...CALL, path: "/ai/health" });

      expect({ status, error: JSON.parse(text).error }).toMatchObject({
        status: 404,
        error: {
          code: "not_found",
          message: expect.stringMatching(/^POST \/ai\/v1\/images\/variations is not served/),
        },
      });
      expect(beside.text).toBe(OWN_RESPONSE);
    });

    it.each([
      { at: "/ai", basePath: undefined, path: "/v1/images/generations" },
      { at: "/ai", basePath: "/ai", path: "/v1/images/generations" },
      { at: "/ai", basePath: "/pictures", path: "/ai/v1/images/generations" },
    ])(
      "mounted at $at with the base path $basePath it does not respond to $path",
      async ({ at, basePath, path }) => {
        const { gateway } = startGateway(providers(), { basePath });
        const { send } = await mountFor(host, gateway, { at });

        expect((await send({ ...CALL, path })).text).toBe(OWN_RESPONSE);
        expect(providers().emulator.requests).toEqual([]);
      },
    );
  });
}
