import { describe, expect, it } from "vitest";
import { createBitmap } from "../support/create-bitmap.js";
import type { Providers } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { curlIsMissing, openShell } from "./support/curl.js";
import { CAT, CURL_COMMANDS, REFUSED_COMMANDS, STYLE } from "./support/curl-commands.js";
import { drawPng, toDataUrl } from "./support/images.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, SEEDREAM, serve } from "./support/serve.js";

const isRequired = process.env["CI"] === "true";

it("curl is installed", ({ skip }) => {
  skip(curlIsMissing !== undefined && !isRequired, curlIsMissing);
  expect(curlIsMissing).toBeUndefined();
});

describe.skipIf(curlIsMissing && !isRequired)("curl", () => {
  const providers = useProviders();

  const connect = () => openShellFor(providers());

  it.each(CURL_COMMANDS)("sends $what", async ({ command, sent: expected, response, record }) => {
    const { shell, records, sent } = await connect();

    const { status, contentType, body } = await shell.run(command);

    expect(JSON.parse(body)).toMatchObject(response);
    expect({ status, contentType }).toEqual({ status: 200, contentType: "application/json" });
    expect(sent()).toMatchObject([expected]);
    expect(records).toMatchObject([{ caller: "tester", status: 200, ...record }]);
  });

  it.each(REFUSED_COMMANDS)("gets an error with the reason for $what", async ({ command, status, error }) => {
    const { shell, records, sent } = await connect();

    const response = await shell.run(command);

    expect(JSON.parse(response.body)).toMatchObject({ error });

    expect(response).toMatchObject({ status, contentType: "application/json" });
    expect(sent()).toEqual([]);
    expect(records).toEqual([]);
  });

  it("sends an image of two megabytes after it has received 100 Continue", async () => {
    const { shell, records } = await connect();

    const { status } = await shell.run(String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" --expect100-timeout 60 \
  -F model=seedream-4-0-250828 -F prompt="at night" -F image=@large.bmp`);

    expect(status).toBe(200);
    expect(records).toMatchObject([{ operation: "edit", images: 1, charge: "0.03" }]);
  });
});

describe.skipIf(curlIsMissing && !isRequired)("curl -N", () => {
  const providers = useProviders({ images: "tiny", millisecondsPerImage: 200 });

  it.each([
    { path: "/v1/images/generations", operation: "generate" },
    { path: "/api/v3/images/generations", operation: "native" },
  ])("prints the events of a stream of $path as they arrive", async ({ path, operation }) => {
    const { shell, records } = await openShellFor(providers());
    const { stdout } = shell.start(String.raw`curl -N "$BASE_URL${path}" \
  -H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "model": "seedream-4-0-250828",
    "prompt": "3 images of kites",
    "stream": true,
    "sequential_image_generation": "auto",
    "sequential_image_generation_options": {"max_images": 3}
  }'`);

    const pieces: string[] = [];
    const recordsThen: number[] = [];
    for await (const piece of stdout.setEncoding("utf8")) {
      pieces.push(String(piece));
      recordsThen.push(records.length);
    }

    expect(pieces[0]).toContain('"image_index":0');
    expect(pieces[0]).not.toContain("image_generation.completed");
    expect(recordsThen[0]).toBe(0);
    expect(pieces.join("").match(/^event: .*$/gm)).toEqual([
      ...Array.from({ length: 3 }, () => "event: image_generation.partial_succeeded"),
      "event: image_generation.completed",
    ]);
    expect(pieces.join("")).toMatch(/"generated_images":3.*\n\ndata: \[DONE\]\n\n$/);
    expect(records).toMatchObject([{ operation, images: 3, charge: "0.09" }]);
  });
});

/** A shell with two images and a request body in its folder. */
async function openShellFor(providers: Providers) {
  const { url, records } = await serve(providers);
  const [cat, style] = await Promise.all([1, 2].map(drawPng));
  if (cat === undefined || style === undefined) throw new Error("No image was drawn.");
  const body = {
    model: SEEDREAM,
    prompt: "the first as subject, the second as style",
    image: ["https://example.com/a.png", "https://example.com/b.png"],
    response_format: "b64_json",
  };
  const files = {
    "cat.png": cat,
    "style.png": style,
    "body.json": JSON.stringify(body, undefined, 2),
    "large.bmp": createBitmap(900, 900),
  };
  const shell = openShell({ BASE_URL: url, API_KEY: CALLER_KEY }, files);
  const urls = new Map([
    [toDataUrl(cat), CAT],
    [toDataUrl(style), STYLE],
  ]);
  /** The fields that the provider received, with names instead of the data URLs of the files. */
  const sent = () =>
    sentUpstream(providers).map((fields): unknown =>
      JSON.parse(JSON.stringify(fields), (_key, value: unknown) =>
        typeof value === "string" ? (urls.get(value) ?? value) : value,
      ),
    );
  return { shell, records, sent };
}
