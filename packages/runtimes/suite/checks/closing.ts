import assert from "node:assert/strict";
import { SEEDREAM } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "a fox", size: "1K" };

/** The end of a gateway. */
export const closing: readonly Check[] = [
  {
    name: "closes when what is under way is settled, and takes nothing new",
    async run({ serve, fail, asked }) {
      const { gateway, post, records } = serve();
      await fail({ latencyMs: 500, times: 1 });
      const underWay = post(BODY);
      while ((await asked()).length === 0);
      assert.equal(records.length, 0);
      await gateway.close();
      expectMatch(records, [{ status: 200, images: 1 }], "records");
      expectMatch(await underWay, { status: 200 });
      const refused = await post(BODY);
      expectMatch(refused, { status: 503, body: { error: { code: "gateway_closed" } } });
      assert.equal(refused.headers.get("retry-after"), "1");
      await gateway.close();
    },
  },
];
