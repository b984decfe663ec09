import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { toComparable } from "../support/comparable.js";
import { editCall, jsonEditCall } from "../support/edit-call.js";
import type { Call } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost, Before } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";
import { readErrorCode } from "./read-response.js";

const text = JSON.stringify(SEEDREAM_BODY);
const CALLS: readonly { readonly what: string; readonly call: Call }[] = [
  { what: "a body with a length", call: jsonCall(SEEDREAM_BODY) },
  {
    what: "a body in chunks",
    call: { path: GENERATIONS, headers: CALLER_HEADERS, body: [text.slice(0, 9), text.slice(9)] },
  },
  { what: "an edit in JSON", call: jsonEditCall() },
  { what: "a refused request", call: jsonCall({ ...SEEDREAM_BODY, size: "1x1" }) },
];

const PARSERS: readonly Before[] = ["json-parser", "raw-parser", "text-parser", "form-parser"];

/** Hosts with a body parser before the gateway. */
export function describeParsers(host: AdapterHost, providers: () => Providers): void {
  const mount = async (before: Before) => {
    const { gateway } = startGateway(providers());
    return { gateway, mounted: await mountFor(host, gateway, { before }) };
  };

  describe.each(PARSERS.filter((before) => host.befores.includes(before)))("behind a %s", (before) => {
    it.each(CALLS)("gives the same response to $what", async ({ call }) => {
      const { gateway, mounted } = await mount(before);

      const response = await mounted.send(call);

      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    it("refuses a body that is not declared as JSON", async () => {
      const { mounted } = await mount(before);

      const response = await mounted.send({
        ...jsonCall(SEEDREAM_BODY, { "content-type": "text/plain" }),
      });

      expect(response.status).toBe(415);
    });
  });

  describe.each(host.befores.filter((before) => PARSERS.includes(before) && before !== "text-parser"))(
    "behind a %s",
    (before) => {
      it("gives the same response to a form with files", async () => {
        const { gateway, mounted } = await mount(before);

        const response = await mounted.send(editCall());

        expect(response.status).toBe(200);
        expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, editCall())));
      });
    },
  );

  describe.each(host.befores.filter((before) => before === "text-parser"))("behind a %s", (before) => {
    it("responds at once with an error if the files of a form were already read", async () => {
      const { mounted } = await mount(before);

      const response = await mounted.send(editCall());

      expect(response.status).toBe(500);
      expect(readErrorCode(response)).toBe("body_already_read");
    });
  });

  describe.each(host.befores.filter((before) => before === "json-parser"))("behind a %s", (before) => {
    it("uses a body that the host has decompressed", async () => {
      const { mounted } = await mount(before);

      const response = await mounted.send({
        path: GENERATIONS,
        headers: { ...CALLER_HEADERS, "content-encoding": "gzip" },
        body: gzipSync(text),
      });

      expect(response.status).toBe(200);
    });
  });

  describe.each(host.befores.filter((before) => before === "eats-body" || before === "listens-to-body"))(
    "behind a handler that %s",
    (before) => {
      it.each(CALLS)("responds at once with an error instead of waiting for $what", async ({ call }) => {
        const { mounted } = await mount(before);

        const response = await mounted.send(call);

        expect(response.status).toBe(500);
        expect(readErrorCode(response)).toBe("body_already_read");
        expect(response.headers["x-should-retry"]).toBe("false");
        expect(providers().emulator.requests).toEqual([]);
      });
    },
  );

  describe.each(host.befores.filter((before) => before === "sets-header"))(
    "behind a handler that %s",
    (before) => {
      it("keeps the host's header on the response", async () => {
        const { mounted } = await mount(before);

        const response = await mounted.send(jsonCall(SEEDREAM_BODY));

        expect(response.headers).toMatchObject({ "x-host": "yes", "content-type": "application/json" });
      });
    },
  );
}
