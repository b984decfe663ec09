import { afterEach, describe, expect, it, vi } from "vitest";
import { openStudio } from "./testing/open-studio.js";
import type { Role } from "./wire.js";

const API = "/api/session";

describe("without authorize", () => {
  it.each([
    ["127.0.0.1", "localhost"],
    ["127.0.0.1", "localhost:8787"],
    ["127.9.8.7", "127.0.0.1:8787"],
    ["::1", "[::1]:8787"],
    ["::ffff:127.0.0.1", "LOCALHOST"],
  ])("a request from %s for %s is served as admin", async (address, host) => {
    const { send } = openStudio();

    const { status, json } = await send({ path: API, address, headers: { host } });

    expect([status, json]).toMatchObject([200, { role: "admin", access: "local" }]);
  });

  it("a request with the absolute URL of this machine is served", async () => {
    expect((await openStudio().send({ path: API, origin: "http://127.0.0.1:8787" })).status).toBe(200);
  });

  it.each([
    ["another machine", { address: "10.0.0.7" }, "came from another one"],
    ["an address that only begins like a loopback one", { address: "127.0.0.1.example" }, "another one"],
    ["a host that gives no address", { address: null }, "does not say where"],
    ["another host name", { headers: { host: "studio.example" } }, "another host name"],
    ["a name that begins with localhost", { headers: { host: "localhost.example" } }, "another host name"],
    ["a name that ends with localhost", { headers: { host: "evil.localhost" } }, "another host name"],
    ["a user in the host", { headers: { host: "localhost@evil.example" } }, "another host name"],
    ["an address of a network", { headers: { host: "192.168.1.4" } }, "another host name"],
    ["a number that is no address", { headers: { host: "127.0.0.999" } }, "another host name"],
    ["a name with a dot at its end", { headers: { host: "localhost." } }, "another host name"],
    ["a port that is no number", { headers: { host: "localhost:8787@evil.example" } }, "another host name"],
    ["two hosts", { headers: { host: "localhost, evil.example" } }, "another host name"],
    ["another host in an absolute URL", { origin: "http://evil.example" }, "another host name"],
    ["a user in an absolute URL", { origin: "http://localhost@evil.example" }, "another host name"],
    ["no host", { headers: { host: undefined } }, "another host name"],
    ["x-forwarded-for", { headers: { "x-forwarded-for": "1.2.3.4" } }, "through a proxy"],
    ["x-forwarded-for of this machine", { headers: { "x-forwarded-for": "127.0.0.1" } }, "through a proxy"],
    ["an empty x-forwarded-host", { headers: { "x-forwarded-host": "" } }, "through a proxy"],
    ["any other x-forwarded header", { headers: { "x-forwarded-client-cert": "a" } }, "through a proxy"],
    ["via", { headers: { via: "1.1 proxy" } }, "through a proxy"],
    ["x-real-ip", { headers: { "X-Real-IP": "1.2.3.4" } }, "through a proxy"],
    ["cf-connecting-ip", { headers: { "cf-connecting-ip": "1.2.3.4" } }, "through a proxy"],
    ["forwarded", { headers: { forwarded: "for=127.0.0.1" } }, "through a proxy"],
    ["an empty forwarded", { headers: { Forwarded: "" } }, "through a proxy"],
    ["x-original-forwarded-for", { headers: { "x-original-forwarded-for": "1.2.3.4" } }, "through a proxy"],
    ["x-amzn-trace-id", { headers: { "x-amzn-trace-id": "Root=1" } }, "through a proxy"],
    ["fly-client-ip", { headers: { "fly-client-ip": "1.2.3.4" } }, "through a proxy"],
  ])("%s is refused, and the page says why in both languages", async (_what, request, reason) => {
    const { send } = openStudio();

    const [api, page, file] = await Promise.all([
      send({ ...request, path: API }),
      send(request),
      send({ ...request, path: "/assets/any.js" }),
    ]);

    expect([api.status, page.status, file.status]).toEqual([403, 403, 403]);
    expect(api.json).toMatchObject({ error: { code: "studio_refused" } });
    expect(page.text).toContain(reason);
    expect(page.text).toContain("createStudio(gateway, { authorize })");
    expect(page.text).toMatch(/\p{Script=Han}/u);
  });
});

describe("in production", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("a request of this machine is refused without authorize", async () => {
    vi.stubEnv("NODE_ENV", "production");

    const { status, text } = await openStudio().send({});

    expect([status, text]).toEqual([403, expect.stringContaining("NODE_ENV=production")]);
    expect((await openStudio({ authorize: () => "viewer" }).send({ path: API })).status).toBe(200);
  });
});

describe("with authorize", () => {
  it.each(["viewer", "admin"] as const)("%s is let in from anywhere", async (role) => {
    const { send } = openStudio({ authorize: () => role });

    const { status, json } = await send({
      path: API,
      address: null,
      headers: { host: "studio.example", "x-forwarded-for": "1.2.3.4" },
    });

    expect([status, json]).toMatchObject([200, { role, access: "authorize" }]);
  });

  it.each([false, null, undefined, "", 0, true, "Admin", "root", {}])(
    "%j refuses a request, also one from this machine",
    async (answer) => {
      const { send } = openStudio({ authorize: () => answer as never });

      expect((await send({ path: API })).status).toBe(403);
      expect((await send({})).text).toContain("authorize returned neither viewer nor admin");
    },
  );

  it("gets the method, the whole path and the headers, and may take time", async () => {
    const seen: unknown[] = [];
    const { send } = openStudio({
      authorize: async (request): Promise<Role> => {
        const { method, url, headers } = request;
        seen.push([method, url, headers.get("Cookie"), request.clientAddress?.()]);
        await Promise.resolve();
        return "viewer";
      },
    });

    await send({ path: "/api/session?a=1", headers: { cookie: "session=7" } });

    expect(seen).toEqual([["GET", "/studio/api/session?a=1", "session=7", "127.0.0.1"]]);
  });

  it("fails closed if it throws, and only the log says why", async () => {
    const { send, log } = openStudio({
      authorize: () => Promise.reject(new Error("database-canary is down")),
    });

    const responses = await Promise.all([send({}), send({ path: API })]);

    expect(responses.map(({ status }) => status)).toEqual([500, 500]);
    expect(JSON.stringify(responses)).not.toContain("database-canary");
    expect(log.join()).toContain("database-canary is down");
  });
});

describe("a viewer", () => {
  it.each([
    ["POST", "/api/callers"],
    ["PATCH", "/api/callers/shop"],
    ["POST", "/api/callers/shop/rotate"],
    ["POST", "/api/callers/shop/revoke"],
    ["POST", "/api/channels/ark/probe"],
  ])("may not %s %s", async (method, path) => {
    const { send, emulator } = openStudio({ authorize: () => "viewer" });

    const { status, json } = await send({ method, path, body: { id: "new" } });

    expect([status, json]).toMatchObject([403, { error: { code: "not_admin" } }]);
    expect(emulator.requests).toEqual([]);
  });

  it.each(["/api/status", "/api/callers", "/api/callers/shop/audit", "/api/prices"])(
    "may GET %s",
    async (path) => {
      const { send } = openStudio({ authorize: () => "viewer" });

      expect((await send({ path })).status).toBe(200);
    },
  );
});
