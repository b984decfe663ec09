import assert from "node:assert/strict";
import type { Caller } from "@calotype/core";
import { type Bench, GENERATIONS, readResponse, SEEDREAM, type ServedGateway } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch } from "../expect.ts";

const REQUEST = { model: SEEDREAM, prompt: "a fox", size: "1K" };
const OWN_PAGE = { "content-type": "application/json", "sec-fetch-site": "same-origin" };

function findUser({ headers }: { readonly headers: Pick<Headers, "get"> }): Caller | null {
  const id = /session=(\w+)/.exec(headers.get("cookie") ?? "")?.[1];
  return id === undefined ? null : { id, budget: "0.06" };
}

/** A gateway of an app whose session cookie is the id of the user. */
function serveApp({ host, serve }: Bench): ServedGateway {
  const served = serve();
  const { gateway, url } = served;
  host.gateways.set(new URL(url).pathname.slice(1), {
    fetch: (request, options) => gateway.fetch(request, { ...options, caller: findUser }),
    handle: (request) => gateway.handle({ ...request, findUser: () => findUser(request) }),
    notFound: (request) => gateway.notFound(request),
  });
  return served;
}

/** Signed-in users, and keys that expire. */
export const app: readonly Check[] = [
  {
    name: "charges the signed-in user of a page, refuses pages of other sites, and takes keys on the same path",
    async run(bench) {
      const { send, post, records } = serveApp(bench);
      const ask = async (headers: Readonly<Record<string, string>>) =>
        await readResponse(
          await send(GENERATIONS, { headers: { ...OWN_PAGE, ...headers }, body: JSON.stringify(REQUEST) }),
        );

      expectMatch(await ask({}), { status: 401, body: { error: { code: "not_signed_in" } } });
      const cookie = "session=ada";
      expectMatch(await ask({ cookie, "sec-fetch-site": "cross-site" }), {
        status: 403,
        body: { error: { code: "cross_site_request" } },
      });
      expectMatch(await ask({ cookie }), { status: 200, body: { data: [{ url: /^http/ }] } });
      expectMatch(await post(REQUEST), { status: 200 });
      expectMatch(await ask({ cookie }), { status: 200 });
      expectMatch(await ask({ cookie }), { status: 403, body: { error: { code: "insufficient_quota" } } });
      assert.deepEqual(
        records.map(({ caller, charge }) => [caller, charge]),
        [
          ["user:ada", "0.03"],
          ["tester", "0.03"],
          ["user:ada", "0.03"],
        ],
      );
    },
  },
  {
    name: "reads the key of a channel from a function, and again when the provider refuses it",
    async run(bench) {
      const calls: unknown[] = [];
      await bench.fail({ provider: "ark", status: 401, times: 1 });
      const { post } = bench.serve({
        models: { [SEEDREAM]: { family: "seedream" } },
        channels: [
          {
            id: "ark",
            family: "seedream",
            baseUrl: `${bench.addresses.emulator}/api/v3`,
            apiKey: ({ refused }) => {
              calls.push(refused);
              return { key: `key-${calls.length}`, expiresAt: Date.now() + 3_600_000 };
            },
          },
        ],
      });
      expectMatch(await post(REQUEST), { status: 200 });
      expectMatch(await post(REQUEST), { status: 200 });
      assert.deepEqual(calls, [undefined, "key-1"]);
    },
  },
];
