import { expect, it } from "vitest";
import { createBitmap } from "../support/create-bitmap.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";
import { countImages } from "./read-response.js";

/** Bodies as large as reference images. */
export function describeLargeBodies(host: AdapterHost, providers: () => Providers): void {
  it("forwards 30 MB of JSON with a data URL byte for byte", async () => {
    const { gateway } = startGateway(providers());
    const { send } = await mountFor(host, gateway);
    const image = `data:image/bmp;base64,${createBitmap(2800, 2800).toString("base64")}`;
    expect(image.length).toBeGreaterThan(30_000_000);

    const response = await send(jsonCall({ ...SEEDREAM_BODY, image }));

    expect(countImages(response)).toBe(1);
    const [request] = providers().emulator.requests;
    expect(request?.bodyText.includes(image)).toBe(true);
  });
}
