import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { completedEvent, DONE, imageEvent, report } from "./making.ts";
import { NOTHING, ONE, type Row, type RowGroup } from "./row.ts";
import { makesCoded, saysAs } from "./script.ts";
import { ALL, RELAYED, SEEDREAM_WAYS, TRANSLATED } from "./ways.ts";

const image = { status: 200, images: 1 };
const EVENTS = "text/event-stream";
const MARK = "\uFEFF";
const ONE_IMAGE = `{"data":[{"url":"https://images.example/0.png"}],"usage":${report(1)}}`;
const ONE_EVENT = [imageEvent(0), completedEvent(report(1)), DONE];
/** So large that it is relayed while it arrives. */
const LARGE = ONE_IMAGE.replace("{", `{"trace":"${"t".repeat(100_000)}",`);

const BODIES: readonly (readonly [detail: string, texts: readonly string[]])[] = [
  ["whole", [ONE_IMAGE]],
  ["after a byte order mark", [MARK, ONE_IMAGE]],
  ["after white space", [" \r\n", "\t", ONE_IMAGE]],
  ["byte by byte at first", [...ONE_IMAGE.slice(0, 5).split(""), ONE_IMAGE.slice(5)]],
  ["large", [LARGE.slice(0, 70_000), LARGE.slice(70_000)]],
];

const STREAM_BODIES: readonly (readonly [detail: string, texts: readonly string[]])[] = [
  ["whole", ONE_EVENT],
  ["after a byte order mark", [MARK, ": hello\n\n", ...ONE_EVENT]],
  ["after white space and a comment", ["\n\n", ": hello\n\n", ...ONE_EVENT]],
  ["byte by byte at first", [...ONE_EVENT.join("").slice(0, 8).split(""), ONE_EVENT.join("").slice(8)]],
];

const CODINGS: readonly (readonly [name: string, encode: (text: string) => Uint8Array])[] = [
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
  ["deflate", deflateSync],
  ["zstd", zstdCompressSync],
  ["x-secret", (text) => Buffer.from(text).map((byte) => byte ^ 0xff)],
];

const plain = (text: string): Uint8Array => Buffer.from(text);
const making = { images: 1, usage: report(1) };

export const LABELS: RowGroup = {
  title: "The label of a response is wrong, or its body is compressed",
  introduction:
    "The gateway recognizes a body by its first bytes and not only by its content type. It does not ask for compression. A compressed response is refused before anything is relayed: images may have been made, and their number cannot be read. `billing.onLost` says what it costs: nothing, or the hold.",
  rows: [
    ...BODIES.flatMap(([detail, texts]): Row[] => [
      {
        happened: "JSON labelled as events, when JSON was requested",
        detail,
        ways: ["JSON", "native"],
        provider: [saysAs({ "content-type": EVENTS }, ...texts)],
        sees: image,
        charges: ONE,
      },
      {
        happened: "JSON labelled as events, when a stream was requested: it is relayed unchanged",
        detail,
        ways: RELAYED,
        provider: [saysAs({ "content-type": EVENTS }, ...texts)],
        sees: { status: 200, images: 0 },
        record: { images: 1 },
        charges: ONE,
      },
      {
        happened: "JSON labelled as events, when a stream was requested: it becomes events",
        detail,
        ways: TRANSLATED,
        provider: [saysAs({ "content-type": EVENTS }, ...texts)],
        sees: image,
        charges: ONE,
      },
    ]),
    {
      happened: "An error in JSON labelled as events, when a stream was requested",
      ways: RELAYED,
      provider: [saysAs({ "content-type": EVENTS }, '{"error":{"code":"Broken","message":"No."}}')],
      sees: { status: 200, images: 0 },
      record: { images: 0, errorCode: "Broken" },
      charges: NOTHING,
    },
    {
      happened: "An error in JSON labelled as events, when a stream was requested",
      ways: TRANSLATED,
      provider: [saysAs({ "content-type": EVENTS }, '{"error":{"code":"Broken","message":"No."}}')],
      sees: { status: 502, code: "Broken" },
      charges: NOTHING,
    },
    ...STREAM_BODIES.flatMap(([detail, texts]) =>
      ["application/json", "application/octet-stream", "text/plain"].map(
        (label): Row => ({
          happened: "Events with another label",
          detail: `${label}, ${detail}`,
          ways: SEEDREAM_WAYS,
          provider: [saysAs({ "content-type": label }, ...texts)],
          sees: image,
          charges: ONE,
        }),
      ),
    ),
    ...CODINGS.flatMap(([name, encode]) =>
      (["release", "charge"] as const).map(
        (onLost): Row => ({
          happened: `A compressed response (gzip, br, deflate, zstd or another coding), with \`onLost: "${onLost}"\``,
          detail: name,
          ways: ALL,
          provider: [makesCoded(name, encode, making)],
          onLost,
          sees: { status: 502, code: "upstream_invalid_response" },
          charges: onLost === "charge" ? ONE : NOTHING,
          repeat: "stored",
        }),
      ),
    ),
    ...["identity", "IDENTITY", "", "gzip", "utf-8"].map(
      (name): Row => ({
        happened: "A response labelled as compressed that is not compressed, or labelled as `identity`",
        detail: name,
        ways: ALL,
        provider: [makesCoded(name, plain, making)],
        sees: image,
        charges: ONE,
      }),
    ),
    {
      happened: "A compressed refusal: its status counts",
      ways: ALL,
      provider: [
        ({ response }) =>
          void response.writeHead(400, { "content-encoding": "gzip" }).end(gzipSync('{"code":"Sensitive"}')),
      ],
      sees: { status: 400, code: "invalid_request_error" },
      charges: NOTHING,
    },
  ],
};
