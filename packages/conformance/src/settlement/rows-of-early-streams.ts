import { setTimeout as pause } from "node:timers/promises";
import { type Capabilities, GatewayError, type GatewayOptions } from "@calotype/core";
import { completedEvent, imageEvent, report } from "./making.js";
import { charges, NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import {
  cuts,
  hangs,
  makes,
  onceClientLeft,
  refuses,
  type Script,
  says,
  saysAs,
  stopsAfter,
} from "./script.js";
import { STREAMS } from "./ways.js";

const HEARTBEATS: Partial<GatewayOptions> = { heartbeatSeconds: 0.05 };
const success = makes({ images: 1, usage: report(1) });
const ONE_IMAGE = `{"data":[{"url":"https://images.example/0.png"}],"usage":${report(1)}}`;
const once = onceClientLeft(success);
/** A model that does not stream and makes one image per call. */
const SINGLE: Capabilities = { imagesPerCall: 1, streaming: false, sequentialImages: false };
const TWO = ["provider", "provider"] as const;
const image = { status: 200, images: 1 };

/** Is silent for longer than the time after which a stream begins, and then does the rest. */
function late(rest: Script): Script {
  return async (call) => {
    await pause(150);
    await rest(call);
  };
}

/** A row of a stream that begins early. */
function early(
  happened: string,
  provider: readonly Script[],
  row: Omit<Row, "happened" | "ways" | "provider">,
): Row {
  return { happened, ways: STREAMS, provider, options: () => HEARTBEATS, ...row };
}

/** A row of a failure without an image. The client gets the status 200 with the head. */
function failed(
  happened: string,
  provider: readonly Script[],
  { status, code, ...row }: { readonly status: number; readonly code: string } & Partial<Row>,
): Row {
  return early(happened, provider, {
    sees: { status: 200, images: 0, code, ending: "error event" },
    record: { status, images: 0, errorCode: code, channel: `channel ${provider.length}` },
    charges: NOTHING,
    ...row,
  });
}

/** A row of a gateway that is closed before the provider has responded. */
function closed(onLost: "release" | "charge"): Row {
  return early(`The deadline of \`gateway.close()\` passes, with \`onLost: "${onLost}"\``, [hangs], {
    closed: onLost,
    sees: { status: 200, images: 0, code: "upstream_invalid_response", ending: "error event" },
    record: { state: "unresolved", images: 0 },
    charges: onLost === "release" ? NOTHING : ONE,
    next: 503,
  });
}

export const EARLY_STREAMS: RowGroup = {
  title: "The stream began before the provider responded",
  introduction:
    "With [`heartbeatSeconds`](streaming.md#comments-in-quiet-streams), the head of a stream and a comment are sent when the time is over. What is charged and recorded does not depend on that. The record has the status that the client would have got.",
  rows: [
    early("Success", [late(success)], { sees: image, charges: ONE }),
    early("429 from one channel, and success on the next one", [late(refuses(429, "Many")), late(success)], {
      channels: TWO,
      sees: image,
      record: { images: 1, channel: "channel 2" },
      charges: ONE,
    }),
    failed("The provider refuses the content", [late(refuses(400, "Sensitive"))], {
      status: 400,
      code: "Sensitive",
    }),
    failed("429 from every channel", [late(refuses(429, "Many")), refuses(429, "Many")], {
      channels: TWO,
      status: 429,
      code: "Many",
    }),
    failed("500: not sent again", [late(refuses(500, "Broken"))], {
      status: 502,
      code: "Broken",
      repeat: "stored",
    }),
    failed("The connection breaks before the response", [late(cuts)], {
      status: 502,
      code: "upstream_invalid_response",
      repeat: "stored",
    }),
    failed("The provider never responds", [hangs], {
      silenceMs: 700,
      status: 504,
      code: "upstream_timeout",
      repeat: "stored",
    }),
    early("`beforeSend` refuses", [], {
      options: () => ({
        ...HEARTBEATS,
        async beforeSend() {
          await pause(150);
          throw new GatewayError("request_refused", "Not this.");
        },
      }),
      sees: { status: 200, images: 0, code: "request_refused", ending: "error event" },
      record: "none",
      charges: NOTHING,
    }),
    early("The connection breaks between two events", [late(stopsAfter("cut", "events", imageEvent(0)))], {
      sees: { ...image, code: "upstream_invalid_response", ending: "error event" },
      charges: ONE,
    }),
    early("JSON in place of a stream: one event with all of it", [late(says("json", ONE_IMAGE))], {
      sees: image,
      charges: ONE,
    }),
    early(
      "JSON labelled as events: one event with all of it",
      [late(saysAs({ "content-type": "text/event-stream" }, ONE_IMAGE))],
      { sees: image, charges: ONE },
    ),
    early("The client disconnects, and the provider responds", [onceClientLeft(late(success))], {
      client: "during the body",
      record: { images: 1 },
      charges: ONE,
    }),
    early(
      "The client disconnects, and the provider makes two images",
      [onceClientLeft(says("events", imageEvent(0), imageEvent(1), completedEvent(report(2))))],
      { asked: 2, client: "during the body", record: { images: 2 }, charges: charges("0.5", "0.32768") },
    ),
    early(
      "The client disconnects, and the provider refuses with 429: no further channel is tried",
      [onceClientLeft(refuses(429, "Many"))],
      {
        channels: TWO,
        client: "during the body",
        record: { status: 429, images: 0, errorCode: "Many", channel: "channel 1" },
        charges: NOTHING,
      },
    ),
    {
      ...early("JSON becomes events", [late(success)], { sees: image, charges: ONE }),
      ways: ["Qwen-Image stream"],
    },
    {
      ...failed("JSON without an image", [late(makes({ images: 0 }))], {
        status: 502,
        code: "upstream_no_image",
      }),
      ways: ["Qwen-Image stream"],
    },
    {
      ...early("Two calls make an image each", [late(success), late(success)], {
        asked: 2,
        capabilities: SINGLE,
        sees: { status: 200, images: 2 },
        charges: charges("0.5", "0.32768"),
      }),
      ways: ["OpenAI stream", "Qwen-Image stream"],
    },
    {
      ...failed("Two calls make no image", [late(makes({ images: 0 })), late(makes({ images: 0 }))], {
        asked: 2,
        capabilities: SINGLE,
        status: 502,
        code: "upstream_no_image",
        record: { status: 502, images: 0, errorCode: "upstream_no_image" },
      }),
      ways: ["OpenAI stream", "Qwen-Image stream"],
    },
    {
      ...early("The client disconnects while two calls are open", [once, once], {
        asked: 2,
        capabilities: SINGLE,
        client: "during the body",
        record: { images: 2 },
        charges: charges("0.5", "0.32768"),
      }),
      ways: ["OpenAI stream", "Qwen-Image stream"],
    },
    closed("release"),
    closed("charge"),
  ],
};
