import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findLink, openSession, readTerminal } from "./testing/open-session.js";
import { type OpenStudio, openStudio } from "./testing/open-studio.js";

const PRINT_LINK = "http://localhost:8787/studio";
/** A request of a browser without a session. */
const NOBODY = { cookie: "" };
const API = "/api/session";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** The path of a new link, below the studio. */
async function printLink({ studio }: OpenStudio, url = PRINT_LINK): Promise<string> {
  const link = findLink(await readTerminal(() => studio.printLink(url))) ?? "";
  return link.slice("/studio".length);
}

/** The header `cookie` that a browser sends after a response. */
function keepCookie(headers: Readonly<Record<string, string>>): string {
  return headers["set-cookie"]?.split(";")[0] ?? "";
}

describe("without authorize", () => {
  it("opens no page, no file and no API without a session, and prints a link for the page only", async () => {
    const { send } = openStudio();
    const other = await readTerminal(async () => {
      expect((await send({ ...NOBODY, path: API })).json).toMatchObject({
        error: { code: "studio_session" },
      });
      expect((await send({ ...NOBODY, path: "/assets/any.js" })).status).toBe(403);
      expect((await send({ ...NOBODY, method: "HEAD" })).status).toBe(403);
      expect((await send({ ...NOBODY, headers: { "sec-fetch-dest": "image" } })).status).toBe(403);
    });

    const printed = await readTerminal(async () => {
      const page = await send({ ...NOBODY, path: "/usage?period=30d" });
      expect([page.status, page.text]).toEqual([
        403,
        expect.stringContaining("Open the link that the app prints"),
      ]);
      expect(page.text).not.toMatch(/[\da-f]{64}/);
    });

    expect(other).toEqual([]);
    expect(printed).toEqual([
      expect.stringMatching(
        /^The studio: http:\/\/localhost:8787\/studio\/usage\?period=30d&token=[\da-f]{64} \(works once, until \d\d:\d\d:\d\d\)\n$/,
      ),
    ]);
  });

  it("a link opens a session in one browser, and its secret leaves the address", async () => {
    const studio = openStudio();
    const path = await printLink(studio, `${PRINT_LINK}/try?model=a`);

    const opened = await studio.send({ ...NOBODY, path });
    const cookie = keepCookie(opened.headers);

    expect([opened.status, opened.headers["location"]]).toEqual([303, "/studio/try?model=a"]);
    expect(opened.headers).toMatchObject({ "referrer-policy": "no-referrer", "cache-control": "no-store" });
    expect(opened.headers["set-cookie"]).toMatch(
      /^calotype_studio_8787=[\da-f]{64}; Path=\/studio; HttpOnly; SameSite=Strict$/,
    );
    expect((await studio.send({ path: API, cookie })).json).toMatchObject({ role: "admin", access: "local" });
    expect((await studio.send({ cookie })).status).toBe(200);
    expect(studio.log).toEqual([]);
  });

  it.each([{ origin: "https://localhost:8787" }])("over https the cookie is Secure", async ({ origin }) => {
    const studio = openStudio();

    const { headers } = await studio.send({ ...NOBODY, origin, path: await printLink(studio) });

    expect(headers["set-cookie"]).toMatch(/; Secure$/);
  });

  it("a link works once: opened again it leads a browser with the session on, and refuses every other", async () => {
    const studio = openStudio();
    const path = await printLink(studio);
    const first = await studio.send({ ...NOBODY, path });

    const [second, again] = await Promise.all([
      studio.send({ ...NOBODY, path }),
      studio.send({ path, cookie: keepCookie(first.headers) }),
    ]);

    expect([second.status, keepCookie(second.headers)]).toEqual([403, ""]);
    expect([again.status, again.headers["location"], again.headers["set-cookie"]]).toEqual([
      303,
      "/studio",
      undefined,
    ]);
  });

  it("two browsers that open a link at the same time get one session", async () => {
    const studio = openStudio();
    const path = await printLink(studio);

    const sent = await Promise.all([1, 2, 3].map(() => studio.send({ ...NOBODY, path })));

    expect(sent.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 403, 403]);
  });

  it("a link works for ten minutes", async () => {
    const studio = openStudio();
    const [late, early] = [await printLink(studio), await printLink(studio)];
    expect(late).toBe(early);

    vi.setSystemTime(Date.now() + 600_000);

    expect((await studio.send({ ...NOBODY, path: late })).status).toBe(403);
    const next = await printLink(studio);
    vi.setSystemTime(Date.now() + 599_999);
    expect((await studio.send({ ...NOBODY, path: next })).status).toBe(303);
  });

  it.each([
    ["an empty one", () => ""],
    ["another one", () => "0".repeat(64)],
    ["a shorter one", (token: string) => token.slice(1)],
    ["a longer one", (token: string) => `${token}0`],
    ["in capital letters", (token: string) => token.toUpperCase()],
    [
      "its beginning with another end",
      (token: string) => token.slice(0, -1) + (token.endsWith("0") ? "1" : "0"),
    ],
    ["a name of an object", () => "__proto__"],
  ])("a guessed token is refused, and does not end the link: %s", async (_what, guess) => {
    const studio = openStudio();
    const path = await printLink(studio);
    const token = path.split("token=")[1] ?? "";

    const guessed = await studio.send({ ...NOBODY, path: `?token=${guess(token)}` });

    expect([guessed.status, keepCookie(guessed.headers)]).toEqual([403, ""]);
    expect((await studio.send({ ...NOBODY, path })).status).toBe(303);
  });

  it.each(["HEAD", "POST"])(
    "%s does not open a link, as a program that looks at links may send it",
    async (method) => {
      const studio = openStudio();
      const path = await printLink(studio);

      expect((await studio.send({ ...NOBODY, method, path })).status).toBe(403);
      expect((await studio.send({ ...NOBODY, path })).status).toBe(303);
    },
  );

  it("a link opens neither the API nor files", async () => {
    const studio = openStudio();
    const query = await printLink(studio);

    expect((await studio.send({ ...NOBODY, path: API + query })).status).toBe(403);
    expect((await studio.send({ ...NOBODY, path: `/assets/any.js${query}` })).status).toBe(403);
    expect((await studio.send({ ...NOBODY, path: query })).status).toBe(303);
  });

  it("a link that is still valid is printed again at most every ten seconds, and a new one at once", async () => {
    const { send } = openStudio();
    const open = (path = ""): Promise<readonly string[]> => readTerminal(() => send({ ...NOBODY, path }));
    const first = await open();

    expect([await open(), await open("?token=1")]).toEqual([[], []]);
    vi.setSystemTime(Date.now() + 10_000);
    expect((await open())[0]).toBe(first[0]);
    await send({ ...NOBODY, path: findLink(first)?.slice("/studio".length) ?? "" });
    expect(findLink(await open())).not.toBe(findLink(first));
  });

  it("a session is valid at the path of its studio only", async () => {
    const studio = openStudio();
    const cookie = await openSession(studio.studio, "/a");

    expect((await studio.send({ mountPath: "/a", path: API, cookie })).status).toBe(200);
    expect((await studio.send({ mountPath: "/b", path: API, cookie })).status).toBe(403);
    expect((await studio.send({ mountPath: "/a/b", path: API, cookie })).status).toBe(403);
    expect((await openStudio().send({ mountPath: "/a", path: API, cookie })).status).toBe(403);
  });

  it("finds its cookie beside others of the same name, as studios below each other have them", async () => {
    const { studio, send } = openStudio();
    const own = await openSession(studio);

    const other = `calotype_studio_8787=${"0".repeat(64)}`;
    for (const cookie of [`a=1; ${other}; ${own}`, `${own};${other}`]) {
      expect((await send({ path: API, cookie })).status).toBe(200);
    }
    for (const cookie of [
      other,
      "calotype_studio_8787=",
      "calotype_studio_8787",
      own.replaceAll("=", "=0"),
    ]) {
      expect((await send({ path: API, cookie })).status).toBe(403);
    }
  });

  it("a session ends after a day, and the oldest of more than twenty at once", async () => {
    const { studio, send } = openStudio();
    const cookies: string[] = [];
    for (let at = 0; at < 21; at++) cookies.push(await openSession(studio));
    const statusOf = async (at: number): Promise<number> =>
      (await send({ path: API, cookie: cookies[at] ?? "" })).status;

    expect([await statusOf(0), await statusOf(1), await statusOf(20)]).toEqual([403, 200, 200]);
    vi.setSystemTime(Date.now() + 86_400_000);
    expect(await statusOf(20)).toBe(403);
  });

  it.each([
    ["HTTP/1.0", { httpVersion: "1.0" }, "HTTP/1.0"],
    ["HTTP/0.9", { httpVersion: "0.9" }, "HTTP/1.0"],
    ["a version that is none", { httpVersion: "x" }, "HTTP/1.0"],
    ["a proxy's header", { headers: { "x-forwarded-for": "1.2.3.4" } }, "through a proxy"],
    ["a proxy's scheme", { headers: { "X-Scheme": "https" } }, "through a proxy"],
    [
      "a host that resolves to this machine",
      { headers: { host: "rebind.example:8787" } },
      "another host name",
    ],
    ["another machine", { address: "10.0.0.7" }, "came from another one"],
  ])(
    "a session and a valid link do not let in a request with %s, and print nothing",
    async (_what, sent, reason) => {
      const studio = openStudio();
      const cookie = await openSession(studio.studio);
      const path = await printLink(studio);

      const printed = await readTerminal(async () => {
        expect((await studio.send({ ...sent, cookie, path: API })).status).toBe(403);
        expect((await studio.send({ ...sent, ...NOBODY, path })).text).toContain(reason);
      });

      expect(printed).toEqual([]);
      expect((await studio.send({ ...NOBODY, path })).status).toBe(303);
    },
  );

  it.each(["1.1", "2.0", "3", undefined])("a session lets in HTTP/%s", async (httpVersion) => {
    expect((await openStudio().send({ path: API, httpVersion })).status).toBe(200);
  });

  it.each([
    ["another site", "cross-site"],
    ["another port of this machine, to which browsers send the cookie", "same-site"],
  ])("with the cookie, a page of %s can neither read nor change", async (_what, site) => {
    const { send, gateway } = openStudio();
    const headers = { "sec-fetch-site": site };

    expect((await send({ path: "/api/callers", headers })).status).toBe(403);
    expect((await send({ method: "POST", path: "/api/callers", body: { id: "new" }, headers })).status).toBe(
      403,
    );
    expect(await gateway.callers.find("new")).toBeUndefined();
  });

  it("prints no address that could lead elsewhere, and nothing that a terminal would run", async () => {
    const { send } = openStudio();

    const [line = ""] = await readTerminal(() =>
      send({ ...NOBODY, path: "/\u001B]0;\u009B2J", headers: { host: "127.0.0.1:9" } }),
    );

    expect(line).toMatch(/^The studio: http:\/\/127\.0\.0\.1:9\/studio\?token=[\da-f]{64} [^\p{Cc}]*\n$/u);
  });

  it("in production, prints nothing", async () => {
    vi.stubEnv("NODE_ENV", "production");
    try {
      const { studio, send } = openStudio();
      expect(await readTerminal(() => studio.printLink(PRINT_LINK))).toEqual([]);
      expect(await readTerminal(() => send(NOBODY))).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("refuses to print what is no address", () => {
    expect(() => openStudio().studio.printLink("/studio")).toThrow(TypeError);
  });
});

describe("with authorize", () => {
  it("that returns terminal, browsers with a session are admins, from wherever they come", async () => {
    const studio = openStudio({ authorize: ({ headers }) => headers.get("x-team") === "a" && "terminal" });
    const sent = {
      headers: { "x-team": "a", "x-forwarded-for": "1.2.3.4", host: "app.example" },
      address: null,
    };
    const lines = await readTerminal(() => studio.send({ ...sent, ...NOBODY }));
    const path = /\/studio(\?token=\S+)/.exec(lines.join(""))?.[1] ?? "";

    const { headers } = await studio.send({ ...sent, path });

    // The sender chooses the host, so the line has none.
    expect(lines.join()).toMatch(/^The studio: \/studio\?token=/);
    const cookie = keepCookie(headers);
    expect((await studio.send({ ...sent, path: API, cookie })).json).toMatchObject({
      role: "admin",
      access: "authorize",
    });
    expect((await studio.send({ path: API, cookie })).status).toBe(403);
    expect((await studio.send({ ...sent, path: API, cookie: "" })).status).toBe(403);
  });

  it("that returns a role, no link is printed and none is needed", async () => {
    const { studio, send } = openStudio({ authorize: () => "viewer" });

    const printed = await readTerminal(async () => {
      studio.printLink(PRINT_LINK);
      expect((await send({ ...NOBODY, path: "?token=1" })).status).toBe(200);
    });

    expect(printed).toEqual([]);
  });
});
