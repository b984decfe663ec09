import { createServer } from "node:http";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import { askArk } from "../test-support/ask.js";
import { bmp, countColor, dataUrl, inspect } from "../test-support/images.js";

const red = [224, 32, 32] as const;

async function edit(emulator: Emulator, reference: string | string[]) {
  const fields = {
    image: reference,
    response_format: "b64_json",
    model: "seedream-4-0-250828",
    size: "1024x1024",
  };
  const { status, body } = await askArk(emulator, fields);
  const image =
    status === 200 ? await inspect(Buffer.from(body.data[0]?.b64_json ?? "", "base64")) : undefined;
  return { status, body, redPixels: image === undefined ? 0 : countColor(image, red) };
}

describe("a reference image", () => {
  it.each(["png", "jpeg", "webp", "gif", "tiff"] as const)(
    "as a data URL of %s is seen in the image",
    async (format) => {
      const { redPixels } = await edit(createEmulator(), await dataUrl({ width: 300, height: 200, format }));
      expect(redPixels).toBeGreaterThan(20_000);
    },
  );

  it("as a bitmap is decoded", async () => {
    const { status } = await edit(
      createEmulator(),
      `data:image/bmp;base64,${bmp(33, 17).toString("base64")}`,
    );
    expect(status).toBe(200);
  });

  it("as HEIC, which cannot be decoded here, is accepted with a placeholder", async () => {
    const heic = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from("ftypheic"), Buffer.alloc(64)]);
    const { status } = await edit(createEmulator(), `data:image/heic;base64,${heic.toString("base64")}`);
    expect(status).toBe(200);
  });

  it("as an SVG file is refused", async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="99" height="99"/>').toString(
      "base64",
    );
    const { body } = await edit(createEmulator(), `data:image/svg+xml;base64,${svg}`);
    expect(body.error.code).toBe("InvalidImageURL.InvalidFormat");
  });

  it("may be an earlier result", async () => {
    const emulator = createEmulator();
    const earlier = (await askArk(emulator)).body.data[0]?.url ?? "";
    expect((await edit(emulator, earlier)).status).toBe(200);
    const tampered = await edit(emulator, earlier.replace(/Expires=\d+/, "Expires=1"));
    expect(tampered.body.error.message).toContain("failed to download");
  });

  it("on another machine is never downloaded: a placeholder replaces it", async () => {
    const fetched = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("must not be called"));
    const links = [
      "https://example.com/fox.png",
      "http://10.0.0.1/fox.png",
      "http://169.254.169.254/latest/meta-data",
      "http://localhost.example.com/a.png",
      "http://127.0.0.1.example.com/a.png",
    ];
    for (const link of links) expect((await edit(createEmulator(), link)).status).toBe(200);
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });
});

describe("a reference on this machine", () => {
  const files = new Map<string, (address: string) => { status: number; headers: object; body: Buffer }>();
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? "");
    const { status, headers, body } = file?.(base) ?? { status: 404, headers: {}, body: Buffer.alloc(0) };
    response.writeHead(status, { ...headers }).end(body);
  });
  let base = "";

  beforeEach(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    base = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("is downloaded and seen in the image", async () => {
    const background = { r: red[0], g: red[1], b: red[2] };
    const body = await sharp({ create: { width: 200, height: 200, channels: 3, background } })
      .png()
      .toBuffer();
    files.set("/red.png", () => ({ status: 200, headers: {}, body }));
    expect((await edit(createEmulator(), `${base}/red.png`)).redPixels).toBeGreaterThan(20_000);
  });

  it.each([
    ["/missing.png", "failed to download"],
    ["/elsewhere.png", "failed to download"],
    ["/huge.png", "30 MB"],
    ["/page.html", "not supported"],
  ])("%s is refused: %s", async (path, message) => {
    files.set("/elsewhere.png", () => ({
      status: 302,
      headers: { location: "https://example.com" },
      body: Buffer.alloc(0),
    }));
    files.set("/huge.png", () => ({ status: 200, headers: {}, body: Buffer.alloc(31 * 1024 * 1024) }));
    files.set("/page.html", () => ({ status: 200, headers: {}, body: Buffer.from("<html>") }));
    const { status, body } = await edit(createEmulator(), `${base}${path}`);
    expect(status).toBe(400);
    expect(body.error.message).toContain(message);
  });
});
