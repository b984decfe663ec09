import { describe, expect, it } from "vitest";
import { toComparable } from "../support/comparable.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { BODY_LIMIT, EXCHANGES } from "./exchanges.js";
import { mountFor } from "./mount-for.js";
import { countImages, readErrorCode } from "./read-response.js";

/** The responses of every host are the same as those of `gateway.fetch`. */
export function describeResponses(host: AdapterHost, providers: () => Providers): void {
  describe("responses", () => {
    it.each(EXCHANGES)("$behaviour", async ({ call, options, fault, status, code, images, headers = {} }) => {
      const { gateway } = startGateway(providers(), { bodyLimits: { json: BODY_LIMIT }, ...options });
      if (fault !== undefined) providers().emulator.faults.add(fault);
      const mounted = await mountFor(host, gateway);

      const response = await mounted.send(call);

      expect({ status: response.status, code: readErrorCode(response) }).toEqual({ status, code });
      expect(countImages(response)).toBe(images ?? (status === 200 ? 1 : 0));
      const { headers: ours } = toComparable(response);
      expect(ours).toEqual({
        "content-type": "application/json",
        "cache-control": "no-store",
        "x-request-id": "<our id>",
        ...headers,
      });
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    it("have the id of their usage record", async () => {
      const { gateway, records } = startGateway(providers());
      const mounted = await mountFor(host, gateway);

      const response = await mounted.send(jsonCall(SEEDREAM_BODY));

      expect(records).toMatchObject([
        { id: response.headers["x-request-id"], caller: "tester", status: 200, images: 1, charge: "0.03" },
      ]);
    });
  });
}
