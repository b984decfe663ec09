import type { Usage } from "@calotype/core";
import { errorOf, FAILED_IMAGE, report, usageOf } from "./making.js";
import { type Charges, charges, NOTHING, ONE, type Row, type RowGroup, UNPRICED } from "./row.js";
import { hangs, onceClientLeft, type Script, says, stopsAfter } from "./script.js";
import type { Way } from "./ways.js";

const WAYS: readonly Way[] = ["JSON", "native", "OpenAI stream"];
const invalid = "upstream_invalid_response";
const timeout = "upstream_timeout";
/** Short enough for a test, and longer than a busy machine takes to respond. */
const silenceMs = 700;

/** So large that the response to the client begins before the upstream response has ended. */
const IMAGE = "A".repeat(300_000);
const image = `{"b64_json":"${IMAGE}","size":"2048x2048"}`;
const failed = JSON.stringify({ error: { ...FAILED_IMAGE, message: "n".repeat(10_000) } });
/** A response in two parts. After the first part it is certain that there is an image. */
const HALF = `{"created":1763683200,"data":[{"b64_json":"${IMAGE}`;
const REST = `"}],"usage":${report(1)}}`;

const brokenOff = { status: 200, images: 0, ending: "breaks off" } as const;
const FAILURE = "InternalServiceError";
const withFailure = `{"data":[${image}],"error":${JSON.stringify(errorOf(FAILURE))},"usage":${report(1)}}`;
const allFailed = `{"data":[${Array.from({ length: 8 }, () => failed).join(",")}]}`;
const veryLong = JSON.stringify({ error: { ...FAILED_IMAGE, message: "n".repeat(90_000) } });
const noTokens = { output_tokens: 0, total_tokens: 0 };
const allFailedWithoutCount = `${allFailed.slice(0, -1)},"usage":${JSON.stringify(noTokens)}}`;

/** A row of an upstream response that ends normally. */
function whole(happened: string, text: string, rest: Omit<Row, "happened" | "ways" | "provider">): Row {
  return { happened, ways: WAYS, provider: [says("json", text)], ...rest };
}

/** A row of a client that disconnects after its response has begun. */
function left(
  happened: string,
  rest: Script,
  row: Pick<Row, "record" | "charges" | "silenceMs" | "repeat">,
): Row {
  return {
    happened: `The client disconnects${happened}`,
    ways: WAYS,
    client: "during the body",
    provider: [onceClientLeft(rest, HALF)],
    ...row,
  };
}

interface Charged {
  readonly charges: Charges;
  readonly usage?: Usage;
}

/** Rows of a provider whose connection breaks, or that stops sending. */
function stopped(where: string, text: string, charged: Charged, ways = WAYS): readonly Row[] {
  const row = (how: "cut" | "hang", errorCode: string): Row => ({
    happened: `${how === "cut" ? "The connection breaks" : "Silence"} ${where}`,
    ways,
    provider: [stopsAfter(how, "json", text)],
    silenceMs,
    sees: brokenOff,
    repeat: "stored",
    charges: charged.charges,
    record: { images: 0, errorCode, ...(charged.usage && { usage: charged.usage }) },
  });
  return [row("cut", invalid), row("hang", timeout)];
}

export const LARGE_RESPONSES: RowGroup = {
  title: "A large response",
  introduction:
    "JSON of Seedream above 64 KiB, for example with images in base64, is relayed while it arrives. The response to the client begins when an image is certain. A failure after that cannot become an error response; the client's connection is reset instead. Then the charge is what the provider had reported up to that point.",
  rows: [
    whole("Two large images", `{"data":[${image},${image}],"usage":${report(2)}}`, {
      asked: 2,
      sees: { status: 200, images: 2 },
      charges: charges("0.5", "0.32768"),
    }),
    ...stopped("inside an image", HALF, { charges: NOTHING }),
    ...stopped("after the report", `${HALF}${REST.slice(0, -1)}`, { charges: ONE, usage: usageOf(1) }, [
      "JSON",
      "native",
    ]),
    {
      ...whole("An error after an image, and a report of one", withFailure, {
        sees: brokenOff,
        charges: ONE,
      }),
      ways: ["JSON"],
      record: { images: 0, errorCode: FAILURE, usage: usageOf(1) },
    },
    {
      ...whole("An error after an image, and a report of one", withFailure, {
        sees: { status: 200, images: 1 },
        charges: ONE,
      }),
      ways: ["native", "OpenAI stream"],
      record: { images: 1, errorCode: FAILURE },
    },
    {
      ...whole("All images of the batch failed", allFailed, {
        sees: { status: 502, code: FAILED_IMAGE.code },
        charges: NOTHING,
      }),
      ways: ["JSON", "OpenAI stream"],
    },
    {
      ...whole("All images of the batch failed", allFailed, {
        sees: { status: 200, images: 0 },
        charges: NOTHING,
      }),
      ways: ["native"],
      record: { images: 0, errorCode: FAILED_IMAGE.code },
    },
    {
      ...whole("All images of the batch failed, and a report without a count", allFailedWithoutCount, {
        sees: { status: 502, code: FAILED_IMAGE.code },
        charges: NOTHING,
      }),
      ways: ["JSON", "OpenAI stream"],
      record: { images: 0, usage: noTokens },
    },
    {
      ...whole("All images of the batch failed, and a report without a count", allFailedWithoutCount, {
        sees: { status: 200, images: 0 },
        charges: NOTHING,
      }),
      ways: ["native"],
      record: { images: 0, errorCode: FAILED_IMAGE.code, usage: noTokens },
    },
    whole("An image and a failed image with a very long message", `{"data":[${veryLong},${image}]}`, {
      asked: 2,
      sees: { status: 200, images: 1 },
      record: { images: 1, usage: "none" },
      charges: charges("0.25", UNPRICED),
    }),
    {
      ...whole("All images failed, one with a very long message", `{"data":[${veryLong}]}`, {
        sees: { status: 502, code: FAILED_IMAGE.code },
        charges: NOTHING,
      }),
      ways: ["JSON", "OpenAI stream"],
    },
    {
      ...whole("All images failed, one with a very long message", `{"data":[${veryLong}]}`, {
        sees: { status: 200, images: 0 },
        charges: NOTHING,
      }),
      ways: ["native"],
      record: { images: 0, errorCode: FAILED_IMAGE.code },
    },
    whole(
      "A report after a very long string",
      `{"data":[${image}],"usage":{"note":${JSON.stringify(IMAGE)},${report(1).slice(1)}}`,
      {
        sees: { status: 200, images: 1 },
        charges: ONE,
      },
    ),
    left("", says("json", REST), { record: { images: 1 }, charges: ONE }),
    left(", and the provider breaks off", stopsAfter("cut", "json", "AAAA"), {
      record: { images: 0, errorCode: invalid },
      repeat: "stored",
      charges: NOTHING,
    }),
    left(", and the provider stops sending", hangs, {
      silenceMs,
      record: { images: 0, errorCode: timeout },
      repeat: "stored",
      charges: NOTHING,
    }),
  ],
};
