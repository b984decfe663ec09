import { Buffer } from "node:buffer";
import { require, requireSame } from "./expect.js";
import { createReplay, type Files, PNG } from "./replay.js";
import type { FamilyCheck, FamilySubject, RecordedRequest } from "./subject.js";

/** A PNG whose bytes are not repeated, of a length that is not a multiple of 3. */
function createLargePng(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(3_000_001);
  let state = 1;
  for (let at = 0; at < bytes.length; at++) {
    state = (state * 48_271) % 2_147_483_647;
    bytes[at] = state & 255;
  }
  bytes.set(PNG);
  return bytes;
}

/** A mask, which differs from the image. */
const MASK = new Uint8Array(Buffer.concat([PNG, Buffer.from("mask")]));

/** What a family that edits images must hold for files. */
export function* checkUploads(subject: FamilySubject): Iterable<FamilyCheck> {
  const request = subject.exchanges.find(({ request: { operation } }) => operation === "edit")?.request;
  if (request === undefined) return;
  yield {
    name: "uploads: a file of megabytes reaches the provider unchanged",
    async run() {
      const image = createLargePng();
      requireHolds(
        await sendFiles(subject, request, { image }),
        image,
        "The call has the bytes of the image.",
      );
    },
  };
  for (const field of ["mask", "markup"]) {
    const isTaken = subject.family.fields?.[field] === "image";
    yield {
      name: `uploads: a ${field} ${isTaken ? "reaches the provider, or is refused" : "is refused"}`,
      async run() {
        const sent = await sendFiles(subject, request, { image: PNG, [field]: MASK });
        // Not every model of a family that takes one takes one.
        const isSent = isTaken && sent.body !== undefined;
        if (isSent) return requireHolds(sent, MASK, `The call has the bytes of the ${field}.`);
        requireSame([sent.status, sent.param], [400, field], `What takes no ${field} refuses it.`);
        require(sent.body === undefined, "Nothing is sent.", sent.status);
      },
    };
  }
}

interface SentFiles {
  readonly status: number;
  readonly param: unknown;
  /** The body of the call; `undefined` if nothing was sent. */
  readonly body: Uint8Array | undefined;
}

async function sendFiles(subject: FamilySubject, request: RecordedRequest, files: Files): Promise<SentFiles> {
  const replay = createReplay(subject, { respond: refuse });
  const { status, body } = await replay.send(request, files);
  await replay.close();
  const { param } = Object(body["error"]);
  return { status, param, body: replay.calls[0]?.body };
}

function refuse(): Response {
  return new Response("", { status: 400 });
}

/** As bytes in a form, or as base64 in JSON. */
function requireHolds({ body, status }: SentFiles, file: Uint8Array, rule: string): void {
  const sent = Buffer.from(body ?? []);
  require(sent.includes(Buffer.from(file)) || sent.includes(Buffer.from(file).toString("base64")), rule, {
    status,
    length: sent.length,
  });
}
