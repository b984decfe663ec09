import { createGateway, type SettledRecord } from "@calotype/core";
import { cutAt } from "../grammar/bytes.ts";
import { chance, drawInt, pick, type Random } from "../grammar/draw.ts";
import { type DrawnImage, drawImage } from "../grammar/images.ts";
import type { Finding, Part, PartContext } from "../part.ts";
import { createSimulatedProvider } from "../simulated-provider.ts";

/** How the images come to the client. */
type Way = "json" | "native json" | "events" | "native events";

/** The images of a provider's response. */
interface MarkedCall {
  readonly way: Way;
  readonly images: readonly DrawnImage[];
  readonly require: boolean;
  readonly china: boolean;
  /** Where the response is cut into chunks. */
  readonly cuts: readonly number[];
  /** True if each slash of the base64 is escaped, as some providers do. */
  readonly isEscaped: boolean;
}

/** Images with any bytes, on their way through a gateway that marks them. */
export const marks: Part<MarkedCall> = {
  name: "marks",
  guarantees:
    "A provider returns PNG, JPEG and WebP images with any metadata, often with changed bytes, in JSON and in events, cut into " +
    "chunks at any place. The gateway marks each of them or delivers it as it was made; with `require` it withholds those " +
    "without a mark. The usage record says which. The bytes do not depend on the cuts, a marked image is not marked again, and " +
    "an image with a C2PA manifest never changes. An input is one response.",
  isParallel: true,
  async run(context) {
    while (!context.isOver()) await tryCall(drawCall(context.random), context);
  },
  replay: tryCall,
  *shrink(call) {
    for (const index of call.images.keys()) yield { ...call, images: call.images.toSpliced(index, 1) };
    if (call.cuts.length > 1) yield { ...call, cuts: call.cuts.slice(1) };
    for (const [index, image] of call.images.entries()) {
      const half = Buffer.from(image.base64, "base64");
      const base64 = half.subarray(0, half.length >> 1).toString("base64");
      yield { ...call, images: call.images.with(index, { ...image, base64, isWhole: false }) };
    }
  },
};

export function drawCall(random: Random): MarkedCall {
  const images = Array.from({ length: drawInt(random, 1, 3) }, () => drawImage(random)).filter(
    ({ base64 }) => base64 !== "",
  );
  return {
    way: pick(random, ["json", "native json", "events", "native events"]),
    images,
    require: chance(random, 0.4),
    china: chance(random, 0.5),
    cuts: Array.from({ length: drawInt(random, 0, 12) }, () => drawInt(random, 0, 20_000)),
    isEscaped: chance(random, 0.1),
  };
}

type Context = Pick<PartContext<MarkedCall>, "begin" | "count" | "report">;

/** Sends one request. */
export async function tryCall(call: MarkedCall, context: Context): Promise<void> {
  context.begin(call);
  if (call.images.length === 0) return;
  context.count("inputs");
  const seen = await send(call);
  const rule = findBroken(call, seen) ?? (await findOther(call, seen));
  if (rule === undefined) return;
  const shown = { ...seen, images: seen.images?.map((image) => image.slice(0, 2_000)) };
  await context.report({ rule, input: call, seen: JSON.stringify(shown) } satisfies Finding<MarkedCall>);
}

interface Seen {
  readonly status: number;
  /** The base64 of the images that the client got. `undefined`: its response cannot be read. */
  readonly images: readonly string[] | undefined;
  readonly record: SettledRecord | undefined;
  readonly text: string;
}

function findBroken(call: MarkedCall, { status, images, record, text }: Seen): string | undefined {
  if (images === undefined) return "the client can read the response";
  if (record?.charge !== String(call.images.length)) return "each image is charged";
  if (text.includes("withheld")) return "the client sees no sign of an image that is withheld";
  const delivered = images.filter((image) => image !== "");
  const { marks: entries = [] } = record;
  if (entries.length !== call.images.length) return "the record has an entry for each image";
  const marked = entries.filter((entry) => entry === "marked").length;
  if (call.require) {
    if (delivered.length !== marked) return "with require, only marked images are delivered";
    if (delivered.some((image) => call.images.some(({ base64 }) => base64 === image && !isMarked(base64)))) {
      return "with require, no image is delivered as it was made, unless it was marked";
    }
    if (marked > 0 && status !== 200) return "a marked image is delivered";
    return undefined;
  }
  if (status !== 200 || delivered.length !== call.images.length)
    return "without require, each image is delivered";
  for (const [index, image] of call.images.entries()) {
    const got = delivered[index] ?? "";
    if (entries[index] === "marked") {
      if (!isMarked(got)) return "an image that the record calls marked has a mark";
    } else if (got !== image.base64 && entries[index] !== "c2pa") {
      return "an image without a mark is delivered as it was made";
    }
    if (image.isWhole && image.hasManifest && (got !== image.base64 || entries[index] !== "c2pa")) {
      return "an image with a C2PA manifest does not change";
    }
  }
  return undefined;
}

/** Rules that take another request. */
async function findOther(call: MarkedCall, seen: Seen): Promise<string | undefined> {
  const whole = await send({ ...call, cuts: [] });
  if (removeIds(whole.text) !== removeIds(seen.text)) return "the response does not depend on the cuts";
  if (call.require || seen.images === undefined) return undefined;
  const marked = seen.images.filter((_, index) => seen.record?.marks?.[index] === "marked");
  if (marked.length === 0) return undefined;
  const images = marked.map((base64) => ({ base64, isWhole: true, hasManifest: false }));
  const again = await send({ ...call, way: "json", images, cuts: [] });
  return again.images?.join() === marked.join() ? undefined : "a marked image is not marked again";
}

/** The response without what differs by time. */
function removeIds(text: string): string {
  return text.replaceAll(/"created(?:_at)?":\d+/g, "");
}

function isMarked(base64: string): boolean {
  const text = Buffer.from(base64, "base64").toString("latin1");
  return /trainedAlgorithmicMedia|compositeSynthetic/.test(text) || text.includes("XML:com.adobe.xmp");
}

async function send(call: MarkedCall): Promise<Seen> {
  const records: SettledRecord[] = [];
  const isEvents = call.way.endsWith("events");
  const isNative = call.way.startsWith("native");
  const { transport } = createSimulatedProvider(() => ({
    status: 200,
    headers: { "content-type": isEvents ? "text/event-stream" : "application/json" },
    chunks: cutAt(Buffer.from(isEvents ? toEvents(call) : toJson(call)), call.cuts),
  }));
  const gateway = createGateway(
    {
      models: { doodle: { family: "seedream" } },
      channels: [{ id: "one", family: "seedream", apiKey: "channel-canary-2b7d" }],
      callers: [{ id: "tester", key: KEY, streamFormat: isNative ? "native" : "openai" }],
      logger: { warn: quiet, error: quiet },
      billing: { model_details: { doodle: { pricing_mode: "per-request", model_price: "1" } } },
      marks: { producer: "A & <B>", china: call.china, require: call.require },
      onUsage: (record) => void (record.state === "settled" && records.push(record)),
    },
    { transport, createId: () => "req_1" },
  );
  const response = await gateway.fetch(
    new Request(`http://gateway.example/${isNative ? "api/v3" : "v1"}/images/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "doodle",
        prompt: "a cat",
        response_format: "b64_json",
        stream: isEvents,
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 3 },
      }),
    }),
  );
  const text = await response.text();
  await gateway.close({ deadlineSeconds: 5 });
  return { status: response.status, images: readImages(text), record: records[0], text };
}

const usageOf = ({ images }: MarkedCall): object => ({
  generated_images: images.length,
  output_tokens: 1,
  total_tokens: 1,
});

function toJson(call: MarkedCall): string {
  const data = call.images.map(({ base64 }) => ({ b64_json: base64, size: "1x1" }));
  return escape(call, JSON.stringify({ model: "m", created: 1, data, usage: usageOf(call) }));
}

function toEvents(call: MarkedCall): string {
  const events = call.images.map(({ base64 }, image_index) =>
    toEvent("image_generation.partial_succeeded", { image_index, b64_json: base64, size: "1x1" }),
  );
  return escape(call, events.join("")) + toEvent("image_generation.completed", { usage: usageOf(call) });
}

const toEvent = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, model: "m", created: 1, ...data })}\n\n`;

const escape = ({ isEscaped }: MarkedCall, text: string): string =>
  isEscaped ? text.replaceAll("/", "\\/") : text;

/** The base64 of the images in JSON or in events. `undefined` if something is not JSON. */
function readImages(text: string): readonly string[] | undefined {
  try {
    if (text.startsWith("{")) return listBase64(JSON.parse(text));
    const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
    return lines.flatMap((line) => listBase64({ data: [JSON.parse(line.slice("data: ".length))] }));
  } catch {
    return undefined;
  }
}

function listBase64({
  data = [],
}: {
  readonly data?: readonly { readonly b64_json?: unknown }[];
}): readonly string[] {
  return data.flatMap(({ b64_json: base64 }) => (typeof base64 === "string" ? base64 : []));
}

const KEY = "caller-canary-51c7e0aa";
const quiet = (): void => {};
