import { describe, expect, it, vi } from "vitest";
import type { GatewayRequest } from "../../http.js";
import { createResults } from "./results.js";
import { checkLink } from "./signed-links.js";
import type { ImageToStore, ResultStore } from "./store.js";

const NOW = Date.UTC(2026, 10, 22);
const SECRET = "a secret of at least 32 characters, for tests";
const GENERATE = { operation: "generate", path: "/v1/images/generations" } as const;

async function* bytes(): AsyncIterable<Uint8Array> {
  yield new Uint8Array([1, 2, 3]);
}

const image = (signal = new AbortController().signal): Omit<ImageToStore, "id" | "expiresAt"> => ({
  contentType: "image/png",
  body: bytes(),
  byteLength: 3,
  signal,
});

const create = (options: Parameters<typeof createResults>[0], basePath = "") =>
  createResults(options, { now: () => NOW, basePath });

/** A store that the gateway serves, and what it was given. */
function createStore(more: Partial<ResultStore> = {}) {
  const put = vi.fn<ResultStore["put"]>(async () => {});
  const open = vi.fn<NonNullable<ResultStore["open"]>>(async () => undefined);
  return { put, open, readSecrets: async () => [SECRET], ...more };
}

describe("storing an image", () => {
  it("gives the store an id that cannot be guessed, and the time when the image may be deleted", async () => {
    const store = createStore();
    const results = create({ store, ttlSeconds: 60 });
    const first = await results.store(image(), "https://a.test");
    const second = await results.store(image(), "https://a.test");

    expect(first.id).toMatch(/^[\da-f]{32}$/);
    expect(second.id).not.toBe(first.id);
    expect(vi.mocked(store.put).mock.calls[0]?.[0]).toMatchObject({
      id: first.id,
      contentType: "image/png",
      byteLength: 3,
      expiresAt: new Date(NOW + 60_000),
    });
  });

  it("returns a link to the gateway that its secrets verify", async () => {
    const { id, url } = await create({ store: createStore() }).store(image(), "https://a.test/ai");
    const { origin, pathname, searchParams } = new URL(url);
    expect(origin + pathname).toBe(`https://a.test/ai/v1/images/files/${id}`);
    expect(checkLink({ id, query: searchParams }, [SECRET], NOW)).toEqual({
      kind: "valid",
      secondsLeft: 604_800,
    });
  });

  it("signs with the first of the operator's secrets, and not with those of the store", async () => {
    const secrets = ["1".repeat(32), "2".repeat(32)];
    const { id, url } = await create({ store: createStore(), secrets }).store(image(), "https://a.test");
    const { searchParams: query } = new URL(url);
    const states = [...secrets, SECRET].map((secret) => checkLink({ id, query }, [secret], NOW).kind);
    expect(states).toEqual(["valid", "wrong", "wrong"]);
  });

  it("returns the link of a store that makes links", async () => {
    const link = vi.fn<NonNullable<ResultStore["link"]>>(({ id }) => `https://cdn.test/${id}.png`);
    const results = create({ store: createStore({ link }) });
    const { id, url } = await results.store(image(), "");
    expect(url).toBe(`https://cdn.test/${id}.png`);
    expect(results.served).toBeUndefined();
  });

  it("returns the link that the operator's function returned", async () => {
    const store = vi.fn<(given: ImageToStore) => Promise<string>>(async ({ id }) => `https://x.test/${id}`);
    const { id, url } = await create({ store }).store(image(), "");
    expect(url).toBe(`https://x.test/${id}`);
    expect(store.mock.calls[0]?.[0]).toMatchObject({ id, expiresAt: new Date(NOW + 604_800_000) });
  });

  it.each([[undefined], [""], ["/relative"], [7]])(
    "rejects if a function returns %j as its link",
    async (url) => {
      const store = async (): Promise<string> => url as string;
      await expect(create({ store }).store(image(), "")).rejects.toThrow("must be an absolute URL");
    },
  );

  it("rejects if the store fails, and makes no link", async () => {
    const link = vi.fn<NonNullable<ResultStore["link"]>>(() => "https://x.test");
    const put = vi.fn<ResultStore["put"]>().mockRejectedValue(new Error("The disk is full."));
    await expect(create({ store: { put, link } }).store(image(), "")).rejects.toThrow("The disk is full.");
    expect(link).not.toHaveBeenCalled();
  });

  it("rejects when the signal is aborted, even if the store never stops", async () => {
    const controller = new AbortController();
    const put = vi.fn<ResultStore["put"]>(() => new Promise(() => {}));
    const stored = create({ store: createStore({ put }) }).store(image(controller.signal), "https://a.test");
    controller.abort(new Error("too late"));
    await expect(stored).rejects.toThrow("too late");
  });

  it("does not call the store if the signal was aborted before", async () => {
    const store = createStore();
    const stored = create({ store }).store(image(AbortSignal.abort(new Error("too late"))), "https://a.test");
    await expect(stored).rejects.toThrow("too late");
    expect(store.put).not.toHaveBeenCalled();
  });

  it("keeps the methods of a store that is a class", async () => {
    class Store implements ResultStore {
      readonly stored: string[] = [];
      async put({ id }: ImageToStore): Promise<void> {
        this.stored.push(id);
      }
      async open(id: string): Promise<undefined> {
        this.stored.push(`open ${id}`);
      }
      async sweep(): Promise<void> {
        this.stored.push("sweep");
      }
    }
    const store = new Store();
    const results = create({ store, secrets: [SECRET] });
    const { id } = await results.store(image(), "https://a.test");
    await results.served?.open("x");
    await results.sweep?.(new Date(NOW));
    expect(store.stored).toEqual([id, "open x", "sweep"]);
  });
});

describe("the secrets of a store", () => {
  it("are read once, also by requests at the same time", async () => {
    const readSecrets = vi.fn<() => Promise<string[]>>(async () => [SECRET]);
    const results = create({ store: createStore({ readSecrets }) });
    await Promise.all([results.store(image(), "https://a.test"), results.store(image(), "https://a.test")]);
    await results.store(image(), "https://a.test");
    expect(readSecrets).toHaveBeenCalledOnce();
  });

  it("are read again after a failure", async () => {
    const readSecrets = vi
      .fn<() => Promise<string[]>>()
      .mockRejectedValueOnce(new Error("no such file"))
      .mockResolvedValue([SECRET]);
    const results = create({ store: createStore({ readSecrets }) });
    await expect(results.store(image(), "https://a.test")).rejects.toThrow("no such file");
    await expect(results.store(image(), "https://a.test")).resolves.toMatchObject({ id: expect.any(String) });
  });

  it.each([[[]], [["short"]], [[SECRET, ""]]])("are refused if they are %j", async (secrets) => {
    const results = create({ store: createStore({ readSecrets: async () => secrets }) });
    await expect(results.store(image(), "https://a.test")).rejects.toThrow("no valid secrets");
  });
});

const request = (url: string, more: Partial<GatewayRequest> = {}): GatewayRequest => ({
  method: "POST",
  url,
  headers: new Headers({ host: "gw.test:8080" }),
  body: null,
  signal: new AbortController().signal,
  ...more,
});
const withHost = (host: string): Partial<GatewayRequest> => ({ headers: new Headers({ host }) });

describe("the base of links", () => {
  it.each<[string, string, Partial<GatewayRequest>, string, string]>([
    ["the root", "/v1/images/generations", {}, "", "http://gw.test:8080"],
    ["an encrypted connection", "/v1/images/generations", { isEncrypted: true }, "", "https://gw.test:8080"],
    ["an IPv6 address", "/v1/images/generations", withHost("[::1]:8080"), "", "http://[::1]:8080"],
    ["an absolute URL", "https://a.test/v1/images/generations?x=1", withHost(""), "", "https://a.test"],
    ["an absolute URL and a host", "https://a.test/v1/images/generations", {}, "", "https://gw.test:8080"],
    [
      "an absolute URL and a wrong host",
      "https://a.test/v1/images/generations",
      withHost("/"),
      "",
      "https://a.test",
    ],
    ["a mount path", "/ai/v1/images/generations", { mountPath: "/ai" }, "", "http://gw.test:8080/ai"],
    ["a path below", "/ai/x/v1/images/generations", { mountPath: "/ai" }, "", "http://gw.test:8080/ai/x"],
    ["a base path", "/ai/v1/images/generations", {}, "/ai", "http://gw.test:8080/ai"],
    ["doubled slashes", "//ai//v1/images/generations/", {}, "/ai", "http://gw.test:8080/ai"],
    // A GET request below an unknown mount path would not be the gateway's.
    ["an unknown mount path", "/ai/v1/images/generations", {}, "", "http://gw.test:8080"],
    ["the whole path", "/ai/v1/images/generations", { mountPath: "/" }, "", "http://gw.test:8080/ai"],
    ["a quotation mark", '/a"b/v1/images/generations', { mountPath: "/" }, "", "http://gw.test:8080/a%22b"],
  ])("is that of the request: %s", (_what, url, more, basePath, base) => {
    expect(create({ store: createStore() }, basePath).findLinkBase(request(url, more), GENERATE)).toBe(base);
  });

  it("ignores the headers of proxies, which clients can send too", () => {
    const headers = new Headers({
      host: "gw.test",
      "x-forwarded-host": "evil.test",
      forwarded: "host=evil.test",
    });
    const found = create({ store: createStore() }).findLinkBase(
      request("/v1/images/generations", { headers }),
      GENERATE,
    );
    expect(found).toBe("http://gw.test");
  });

  it.each([["https://img.test"], ["https://img.test/"], ["https://img.test//"]])(
    "is the public URL: %s",
    (publicUrl) => {
      const results = create({ store: createStore(), publicUrl });
      expect(results.findLinkBase(request("/ai/v1/images/generations"), GENERATE)).toBe("https://img.test");
    },
  );

  it.each([
    "",
    "a b",
    "a.test/x",
    "user@a.test",
    "a.test:x",
    "a.test:99999",
    "a.test#",
    "a.test\\",
    "[::1",
    "%",
  ])("is refused for the host %j", (host) => {
    const results = create({ store: createStore() });
    expect(() => results.findLinkBase(request("/v1/images/generations", withHost(host)), GENERATE)).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining("Host") }),
    );
  });

  it("needs no host if the store makes the links", () => {
    const results = create({ store: createStore({ link: () => "https://cdn.test" }) });
    expect(results.findLinkBase(request("/v1/images/generations", withHost("")), GENERATE)).toBe("");
  });
});
