import { Readable } from "node:stream";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createScriptedSource, type ScriptedSource } from "../testing/scripted-source.js";
import { type DownloadError, openImage } from "./download.js";
import { type DownloadRequest, type Transport, TransportError } from "./transport.js";

const downloadImage = async (...of: Parameters<typeof openImage>) =>
  Readable.from(await openImage(...of)).toArray();
const SOURCE = { baseUrl: "https://dashscope.aliyuncs.com/api/v1", resultHosts: [] };
const LINK = "https://dashscope-result.oss.aliyuncs.com/1.png?Expires=1";

interface TestTransport {
  readonly transport: Transport;
  readonly requests: readonly DownloadRequest[];
  readonly cancelled: () => number;
}

/** A transport that responds to each download with the source's bytes. */
function serve(source: ScriptedSource, status = 200): TestTransport {
  const requests: DownloadRequest[] = [];
  let cancelled = 0;
  const transport: Transport = {
    send: () => Promise.reject(new Error("A link is never posted to.")),
    download: async (request) => {
      requests.push(request);
      const cancel = (): void => {
        cancelled++;
        source.fail(new TransportError("broken", undefined));
      };
      return { status, headers: new Headers(), body: source.body, cancel };
    },
    close: async () => {},
  };
  return { transport, requests, cancelled: () => cancelled };
}

const refused = (message: string): Partial<DownloadError> => ({ name: "DownloadError", message });
const NOT_HTTPS = refused("The image's link is not an https link.");
const NOT_PUBLIC = refused("The image's link leads to an address that is not public.");

describe("the image behind a link", () => {
  it("is downloaded unchanged, from public addresses only, with a request that contains only the link", async () => {
    const source = createScriptedSource("one", "two");
    source.end();
    const { transport, requests } = serve(source);
    const chunks = await downloadImage(transport, LINK, SOURCE);
    expect(Buffer.concat(chunks).toString()).toBe("onetwo");
    expect(requests).toEqual([
      { url: LINK, publicOnly: true, timeouts: { connectMs: 10_000, firstByteMs: 30_000, idleMs: 30_000 } },
    ]);
  });

  it.each([
    ["nothing", ""],
    ["no URL", "/1.png"],
    ["no URL", "dashscope.test/1.png"],
    ["a data URL", "data:image/png;base64,AAAA"],
    ["a file", "file:///etc/passwd"],
    ["another protocol", "ftp://dashscope.test/1.png"],
    ["plain http", "http://dashscope.test/1.png"],
    ["plain http on loopback", "http://127.0.0.1/1.png"],
    ["plain http on loopback", "http://localhost/1.png"],
  ])("is not requested if the link is %s: %s", async (_what, link) => {
    const { transport, requests } = serve(createScriptedSource());
    await expect(downloadImage(transport, link, SOURCE)).rejects.toMatchObject(NOT_HTTPS);
    expect(requests).toEqual([]);
  });

  it.each([
    "https://127.0.0.1/1.png",
    "https://127.1/1.png",
    "https://0x7f.1/1.png",
    "https://0177.0.0.1/1.png",
    "https://2130706433/1.png",
    "https://[::1]/1.png",
    "https://[::ffff:10.0.0.1]/1.png",
    "https://[::ffff:a00:1]/1.png",
    "https://[::7f00:1]/1.png",
    "https://[64:ff9b::a00:1]/1.png",
    "https://[fe80::1]/1.png",
    "https://[fd00:ec2::254]/1.png",
    "https://10.0.0.1/1.png",
    "https://172.16.0.1:8443/1.png",
    "https://192.168.1.1/1.png",
    "https://169.254.169.254/latest/meta-data",
    "https://100.64.0.1/1.png",
    "https://100.100.100.200/1.png",
    "https://0.0.0.0/1.png",
    "https://0/1.png",
    "https://user:key@10.0.0.1/1.png",
    "https://10.0.0.1./1.png",
  ])("is not requested from %s", async (link) => {
    const { transport, requests } = serve(createScriptedSource());
    await expect(downloadImage(transport, link, SOURCE)).rejects.toMatchObject(NOT_PUBLIC);
    expect(requests).toEqual([]);
  });

  it.each([
    ["http://emulator:4010/1.png", "http://emulator:4010/api/v1"],
    ["http://10.0.0.1:4010/1.png", "http://10.0.0.1:4010/api/v1"],
  ])(
    "may be downloaded over plain http from the origin of the channel's own http address: %s",
    async (link, baseUrl) => {
      const source = createScriptedSource("x");
      source.end();
      const { transport, requests } = serve(source);
      await downloadImage(transport, link, { ...SOURCE, baseUrl });
      expect(requests).toMatchObject([{ url: link, publicOnly: false }]);
    },
  );

  it.each([
    ["http://emulator:4011/1.png", "http://emulator:4010/api/v1"],
    ["http://emulator/1.png", "https://emulator/api/v1"],
  ])("is not requested over plain http from another origin: %s", async (link, baseUrl) => {
    const { transport, requests } = serve(createScriptedSource());
    await expect(downloadImage(transport, link, { ...SOURCE, baseUrl })).rejects.toMatchObject(NOT_HTTPS);
    expect(requests).toEqual([]);
  });

  it.each([
    ["a name", ["images.internal"], "https://images.internal/1.png", false],
    ["a name in any letter case", ["Images.Internal"], "https://images.INTERNAL:8443/1.png", false],
    ["an address", ["10.0.0.1"], "https://10.0.0.1/1.png", false],
    ["an address of IPv6", ["[fd00::1]"], "https://[fd00::1]/1.png", false],
    ["another name", ["images.internal"], "https://files.internal/1.png", true],
    ["a name below", ["internal"], "https://images.internal/1.png", true],
    ["a name with a dot after it", ["images.internal"], "https://images.internal./1.png", true],
  ])(
    "may be downloaded from a private network if the operator allows %s",
    async (_what, resultHosts, link, publicOnly) => {
      const source = createScriptedSource("x");
      source.end();
      const { transport, requests } = serve(source);
      await downloadImage(transport, link, { ...SOURCE, resultHosts });
      expect(requests).toMatchObject([{ publicOnly }]);
    },
  );

  it("is not requested over plain http from an allowed host", async () => {
    const { transport } = serve(createScriptedSource());
    const source = { ...SOURCE, resultHosts: ["images.internal"] };
    await expect(downloadImage(transport, "http://images.internal/1.png", source)).rejects.toMatchObject(
      NOT_HTTPS,
    );
  });

  it.each([
    ["http://127.0.0.1:8080/api/v1", "http://127.0.0.1:8080/1.png", undefined],
    ["http://localhost:8080/api/v1", "http://localhost:8080/1.png", undefined],
    ["http://[::1]:8080/api/v1", "http://[::1]:8080/1.png", undefined],
    ["http://127.0.0.1:8080/api/v1", "http://127.1:8080/1.png", undefined],
    ["http://127.0.0.1:8080/api/v1", "http://127.0.0.1:8081/1.png", NOT_HTTPS],
    ["http://127.0.0.1:8080/api/v1", "http://127.0.0.2:8080/1.png", NOT_HTTPS],
    ["http://127.0.0.1:8080/api/v1", "http://localhost:8080/1.png", NOT_HTTPS],
    ["http://127.0.0.1:8080/api/v1", "http://127.0.0.1/1.png", NOT_HTTPS],
    ["http://127.0.0.1:8080/api/v1", "https://127.0.0.1:8080/1.png", NOT_PUBLIC],
    ["https://127.0.0.1:8080/api/v1", "https://127.0.0.1:8080/1.png", NOT_PUBLIC],
    ["https://127.0.0.1:8080/api/v1", "http://127.0.0.1:8080/1.png", NOT_HTTPS],
  ])("of a channel at %s, from %s: %j", async (baseUrl, link, refusal) => {
    const source = createScriptedSource("x");
    source.end();
    const { transport, requests } = serve(source);
    const outcome = await downloadImage(transport, link, { baseUrl, resultHosts: [] }).catch(
      (error: unknown) => error,
    );
    expect(outcome).toMatchObject(refusal ?? { length: 1 });
    expect(requests).toHaveLength(refusal === undefined ? 1 : 0);
  });

  it.each([204, 206, 301, 302, 307, 403, 404, 500])(
    "is an error if the link responds with %i, and no byte is read",
    async (status) => {
      const source = createScriptedSource("x");
      const { transport, cancelled } = serve(source, status);
      await expect(downloadImage(transport, LINK, SOURCE)).rejects.toMatchObject(
        refused(`The image's link responded with status ${status}.`),
      );
      expect(source.asked()).toBe(0);
      expect(cancelled()).toBe(1);
    },
  );

  it("is an error if the response is empty", async () => {
    const source = createScriptedSource();
    source.end();
    await expect(downloadImage(serve(source).transport, LINK, SOURCE)).rejects.toMatchObject(
      refused("The image's link gave nothing."),
    );
  });

  it("is an error if the download breaks off", async () => {
    const source = createScriptedSource("half");
    source.fail(new TransportError("broken", undefined));
    await expect(downloadImage(serve(source).transport, LINK, SOURCE)).rejects.toMatchObject(
      refused("The download of the image broke off."),
    );
  });

  it.each([new TransportError("unreachable", undefined), new Error("anything")])(
    "fail if the connection fails with %s",
    async (reason) => {
      const transport = {
        ...serve(createScriptedSource()).transport,
        download: () => Promise.reject(reason),
      };
      await expect(downloadImage(transport, LINK, SOURCE)).rejects.toMatchObject({
        ...refused("The image could not be downloaded."),
        cause: reason,
      });
    },
  );

  it("has at most 64 MiB, and no more is read", async () => {
    const piece = new Uint8Array(1024 * 1024);
    const source = createScriptedSource();
    for (let index = 0; index < 64; index++) source.send(piece);
    source.end();
    expect(await downloadImage(serve(source).transport, LINK, SOURCE)).toHaveLength(64);

    const larger = createScriptedSource();
    for (let index = 0; index < 70; index++) larger.send(piece);
    await expect(downloadImage(serve(larger).transport, LINK, SOURCE)).rejects.toMatchObject(
      refused("The image is larger than 67108864 bytes."),
    );
    expect(larger.asked()).toBe(65);
    expect(larger.isEnded()).toBe(true);
  });
});

describe("a download that breaks off", () => {
  interface Served {
    readonly status?: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly piece: string;
    readonly breaks?: boolean;
  }
  const V1 = { etag: '"v1"' };
  const start: Served = { headers: V1, piece: "half", breaks: true };

  /** Responds to each download with the next of these. */
  function serveAll(served: readonly Served[]): TestTransport {
    const { transport } = serve(createScriptedSource());
    const requests: DownloadRequest[] = [];
    let cancelled = 0;
    const cancel = (): void => void cancelled++;
    const download: Transport["download"] = (request) => {
      const { status = 200, headers, piece, breaks = false } = served[requests.length] ?? start;
      requests.push(request);
      const source = createScriptedSource(piece);
      if (breaks) source.fail(new TransportError("broken", undefined));
      else source.end();
      return Promise.resolve({ status, headers: new Headers(headers), body: source.body, cancel });
    };
    return { transport: { ...transport, download }, requests, cancelled: () => cancelled };
  }

  const restFrom = (first: number, piece: string, more: Partial<Served> = {}): Served => ({
    status: 206,
    headers: { ...V1, "content-range": `bytes ${first}-7/8` },
    piece,
    ...more,
  });

  it("is continued where it stopped, twice at most", async () => {
    const { transport, requests } = serveAll([start, restFrom(4, "mo", { breaks: true }), restFrom(6, "re")]);
    const chunks = await downloadImage(transport, LINK, SOURCE);
    expect(Buffer.concat(chunks).toString()).toBe("halfmore");
    expect(requests.map(({ headers }) => headers)).toEqual([
      undefined,
      { range: "bytes=4-", "if-range": '"v1"' },
      { range: "bytes=6-", "if-range": '"v1"' },
    ]);

    const often = serveAll([
      start,
      restFrom(4, "m", { breaks: true }),
      restFrom(5, "o", { breaks: true }),
      restFrom(6, "re"),
    ]);
    await expect(downloadImage(often.transport, LINK, SOURCE)).rejects.toMatchObject(
      refused("The download of the image broke off."),
    );
    expect(often.requests).toHaveLength(3);
  });

  it.each<[string, readonly Served[]]>([
    ["states no version", [{ ...start, headers: {} }]],
    ["states a version that is not exact", [{ ...start, headers: { etag: 'W/"v1"' } }]],
    ["is compressed", [{ ...start, headers: { ...V1, "content-encoding": "br" } }]],
  ])("is not continued if the link %s", async (_what, served) => {
    const { transport, requests } = serveAll(served);
    await expect(downloadImage(transport, LINK, SOURCE)).rejects.toMatchObject({ name: "DownloadError" });
    expect(requests).toHaveLength(1);
  });

  it.each<[string, Served]>([
    [
      "is another version",
      restFrom(4, "more", { headers: { etag: '"v2"', "content-range": "bytes 4-7/8" } }),
    ],
    ["is another part", restFrom(3, "more")],
    ["does not say which part it is", restFrom(4, "more", { headers: V1 })],
    ["is the whole image", restFrom(4, "halfmore", { status: 200 })],
    ["is gone", restFrom(4, "more", { status: 404 })],
  ])("is not continued if the rest %s", async (_what, rest) => {
    const { transport, cancelled } = serveAll([start, rest]);
    await expect(downloadImage(transport, LINK, SOURCE)).rejects.toMatchObject(
      refused("The download of the image broke off."),
    );
    expect(cancelled()).toBe(1);
  });

  it("is not continued after its signal", async () => {
    const { transport, requests } = serveAll([start, restFrom(4, "more")]);
    const leaving = new AbortController();
    const chunks = (await openImage(transport, LINK, SOURCE, leaving.signal))[Symbol.asyncIterator]();
    await chunks.next();
    leaving.abort();
    await expect(chunks.next()).rejects.toMatchObject(refused("The download of the image broke off."));
    expect(requests).toHaveLength(1);
  });
});

describe("an endless download", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it("is ended after a minute", async () => {
    const source = createScriptedSource();
    const { transport, cancelled } = serve(source);
    const outcome = downloadImage(transport, LINK, SOURCE).catch((error: unknown) => error);
    for (let seconds = 0; seconds < 59; seconds++) {
      source.send("x");
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(cancelled()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(cancelled()).toBe(1);
    expect(await outcome).toMatchObject(refused("The download of the image broke off."));
  });

  it("is not ended because its reader is slow", async () => {
    const source = createScriptedSource("one", "two", "three");
    source.end();
    const { transport, cancelled } = serve(source);
    let text = "";
    for await (const chunk of await openImage(transport, LINK, SOURCE)) {
      await vi.advanceTimersByTimeAsync(50_000);
      text += Buffer.from(chunk).toString();
    }
    expect(text).toBe("onetwothree");
    expect(cancelled()).toBe(0);
  });

  it("is ended by its signal, also if that was aborted before the response came", async () => {
    for (const isLate of [true, false]) {
      const leaving = new AbortController();
      const { transport, cancelled } = serve(createScriptedSource());
      const outcome = openImage(transport, LINK, SOURCE, leaving.signal).catch((error: unknown) => error);
      if (isLate) await vi.advanceTimersByTimeAsync(1);
      leaving.abort();
      expect(await outcome).toMatchObject(refused("The download of the image broke off."));
      expect(cancelled()).toBe(1);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("leaves no timer when it ends", async () => {
    const source = createScriptedSource("x");
    source.end();
    await downloadImage(serve(source).transport, LINK, SOURCE);
    expect(vi.getTimerCount()).toBe(0);
  });
});
