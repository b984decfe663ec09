import { type Bytes, drawPackets, fromBytes, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";
import { drawFormRequest } from "./forms.ts";
import { drawJsonRequest, GENERATIONS, type RequestInput, SEEDREAM } from "./requests.ts";

/** The bytes of a client on one connection. `$CALLER_KEY` is replaced when they are sent. */
export interface ConnectionInput {
  readonly bytes: Bytes;
  /** Where the bytes are cut into packets. */
  readonly cuts: readonly number[];
  /** After the bytes, the client ends its side and reads, or it resets the connection. */
  readonly ending: "ends" | "resets";
  /** The expected statuses, if all requests are valid. */
  readonly statuses: readonly number[] | null;
  /** True if a body contains a second request that must not run. In other inputs, a changed byte may make it a request. */
  readonly isHidden: boolean;
}

/** One to three requests on a connection, with valid or broken framing. */
export function drawConnection(random: Random): ConnectionInput {
  const isValid = chance(random, 0.3);
  const requests = Array.from({ length: pick(random, [1, 1, 2, 3]) }, () => drawRequest(random, isValid));
  const bytes = requests.map((request) => writeRequest(random, request, isValid));
  const whole = Buffer.concat(bytes);
  const isMutated = !isValid && chance(random, 0.5);
  const sent = isMutated ? mutateBytes(random, whole) : whole;
  return {
    bytes: toBytes(sent),
    cuts: drawPackets(random, sent.length),
    ending: isValid || chance(random, 0.8) ? "ends" : "resets",
    statuses: isValid ? requests.map(() => 200) : null,
    // Bytes after an empty body are the next request.
    isHidden: !isMutated && requests.every(({ body }) => body !== null && fromBytes(body).length > 0),
  };
}

function drawRequest(random: Random, isValid: boolean): RequestInput {
  for (;;) {
    const request = chance(random, 0.7) ? drawJsonRequest(random) : drawFormRequest(random);
    if (!isValid || (request.isValid && request.reader === "reads")) return request;
  }
}

/** The second request in a body. It must never run. */
const HIDDEN_BODY = JSON.stringify({ model: SEEDREAM, prompt: "HIDDEN" });
const HIDDEN = `POST ${GENERATIONS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer $CALLER_KEY\r\ncontent-type: application/json\r\ncontent-length: ${HIDDEN_BODY.length}\r\n\r\n${HIDDEN_BODY}`;

function writeRequest(random: Random, request: RequestInput, isValid: boolean): Buffer {
  const body = request.body === null ? Buffer.alloc(0) : fromBytes(request.body);
  const lines = request.headers
    .filter(([name]) => name !== "content-length" && name !== "transfer-encoding")
    .map(([name, value]) => `${name}: ${Buffer.from(value).toString("latin1")}`);
  const head = [
    `${request.method} ${request.path === "" ? "/" : request.path} HTTP/1.1`,
    "host: gateway.example",
    ...lines,
  ];
  const framing = isValid || chance(random, 0.6) ? frame(random, body) : frameBadly(random, body);
  return Buffer.concat([
    Buffer.from(`${[...head, ...framing.lines].join("\r\n")}\r\n\r\n`, "latin1"),
    framing.body,
  ]);
}

interface Framing {
  readonly lines: readonly string[];
  readonly body: Buffer;
}

function frame(random: Random, body: Buffer): Framing {
  // The key is longer than its placeholder.
  const length = Buffer.byteLength(
    body.toString("latin1").replaceAll("$CALLER_KEY", "x".repeat(22)),
    "latin1",
  );
  if (chance(random, 0.6)) return { lines: [`content-length: ${length}`], body };
  return { lines: ["transfer-encoding: chunked"], body: toChunks(random, body) };
}

function toChunks(random: Random, body: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let start = 0; start < body.length; ) {
    const end = Math.min(body.length, start + drawInt(random, 1, 500));
    const extension = chance(random, 0.1) ? ";a=b" : "";
    pieces.push(
      Buffer.from(`${(end - start).toString(16)}${extension}\r\n`),
      body.subarray(start, end),
      Buffer.from("\r\n"),
    );
    start = end;
  }
  return Buffer.concat([
    ...pieces,
    Buffer.from(chance(random, 0.1) ? "0\r\nx-trailer: y\r\n\r\n" : "0\r\n\r\n"),
  ]);
}

/** Framing that parsers disagree about. A hidden request follows where some parser may take it for a second one. */
function frameBadly(random: Random, body: Buffer): Framing {
  const { length } = body;
  const chunks = toChunks(random, body);
  const hidden = Buffer.concat([body, Buffer.from(HIDDEN)]);
  return pick<Framing>(random, [
    {
      lines: [`content-length: ${length + HIDDEN.length}`, "transfer-encoding: chunked"],
      body: Buffer.concat([chunks, Buffer.from(HIDDEN)]),
    },
    {
      lines: ["transfer-encoding: chunked", `content-length: ${length}`],
      body: Buffer.concat([Buffer.from("0\r\n\r\n"), Buffer.from(HIDDEN)]),
    },
    { lines: [`content-length: ${length}`, `content-length: ${length + HIDDEN.length}`], body: hidden },
    { lines: [`content-length: ${length}, ${length + 1}`], body: hidden },
    { lines: [`content-length: +${length}`], body: hidden },
    { lines: [`content-length : ${length}`], body: hidden },
    { lines: [`content-length: ${length} x`], body: hidden },
    { lines: [`content-length: 0x${length.toString(16)}`], body: hidden },
    { lines: ["content-length: -1"], body: hidden },
    { lines: [`content-length: ${"9".repeat(25)}`], body },
    { lines: [`content-length: ${length + 1_000}`], body },
    { lines: ["transfer-encoding: xchunked"], body: hidden },
    { lines: ["transfer-encoding: chunked, identity"], body: hidden },
    { lines: ["transfer-encoding: identity, chunked"], body: chunks },
    { lines: ["transfer-encoding:\tchunked"], body: chunks },
    { lines: ["transfer-encoding: chunked", "transfer-encoding: chunked"], body: chunks },
    { lines: [" transfer-encoding: chunked"], body: hidden },
    { lines: ["x: y", " folded: z", `content-length: ${length}`], body },
    { lines: ["transfer-encoding: chunked"], body: Buffer.from(`ffffffffffffffffff\r\n${HIDDEN}`) },
    {
      lines: ["transfer-encoding: chunked"],
      body: Buffer.concat([
        Buffer.from(`${length.toString(16)}\n`),
        body,
        Buffer.from("\n0\n\n"),
        Buffer.from(HIDDEN),
      ]),
    },
    {
      lines: ["transfer-encoding: chunked"],
      body: Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), body, Buffer.from("xx0\r\n\r\n")]),
    },
    { lines: ["transfer-encoding: chunked"], body: chunks.subarray(0, drawInt(random, 0, chunks.length)) },
    { lines: [`content-length: ${length}`, "expect: 100-continue"], body },
    { lines: [`content-length: ${length}`, "connection: upgrade", "upgrade: h2c"], body },
    { lines: [`content-length: ${length}`, `x-long: ${"y".repeat(drawInt(random, 1_000, 40_000))}`], body },
    {
      lines: [
        ...Array.from({ length: drawInt(random, 100, 3_000) }, (_, index) => `x-${index}: y`),
        `content-length: ${length}`,
      ],
      body,
    },
    { lines: [`content-length: ${length}`, "authorization: Bearer other"], body },
    { lines: [`content-length: ${length}`, "bad name: y"], body },
    { lines: [`content-length: ${length}`, "x: \u0000"], body },
    { lines: [], body },
  ]);
}
