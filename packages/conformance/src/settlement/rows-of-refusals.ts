import { GatewayError } from "@calotype/core";
import { report } from "./making.js";
import { charges, NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import { makes, refuses, type Script } from "./script.js";
import { ALL } from "./ways.js";

const success = makes({ images: 1, usage: report(1) });
const image = { status: 200, images: 1 };
const TWO = ["provider", "provider"] as const;

/** A row of a refusal by every channel. */
function refused(happened: string, provider: readonly Script[], status: number, code: string): Row {
  return { happened, ways: ALL, channels: TWO, provider, sees: { status, code }, charges: NOTHING };
}

/** A row of a request that succeeds on the second channel. */
function second(happened: string, provider: readonly Script[]): Row {
  return {
    happened,
    ways: ALL,
    channels: TWO,
    provider: [...provider, success],
    sees: image,
    record: { images: 1, channel: "channel 2" },
    charges: ONE,
  };
}

export const REFUSALS: RowGroup = {
  title: "The provider refuses, or cannot be reached",
  introduction:
    "A request that reached a provider leaves one record, even if several channels were tried: the record of the channel whose response or failure the client got. A request that reached no provider leaves none.",
  rows: [
    refused("The provider refuses the content", [refuses(400, "Sensitive")], 400, "Sensitive"),
    {
      ...refused(
        "Every channel refuses its key",
        [refuses(401, "Wrong"), refuses(401, "Wrong")],
        401,
        "upstream_authentication_failed",
      ),
      record: { images: 0, status: 401, errorCode: "upstream_authentication_failed", channel: "channel 2" },
    },
    {
      ...refused("429 from every channel", [refuses(429, "Many"), refuses(429, "Many")], 429, "Many"),
      record: { images: 0, channel: "channel 2" },
    },
    {
      ...refused("503 from every channel", [refuses(503, "Busy"), refuses(503, "Busy")], 502, "Busy"),
      record: { images: 0, channel: "channel 2" },
    },
    ...[401, 429, 503].map(
      (status): Row => ({
        ...second("401, 429 or 503 from one channel, and success on the next one", [refuses(status, "No")]),
        detail: String(status),
      }),
    ),
    { ...refused("500: not sent again", [refuses(500, "Broken")], 502, "Broken"), repeat: "stored" },
    {
      ...second("500 from a channel with `retryUnsafe`, and success on the next one", [
        refuses(500, "Broken"),
      ]),
      retryUnsafe: true,
    },
    {
      ...second("One channel cannot be reached, and success on the next one", []),
      channels: ["nobody", "provider"],
    },
    {
      happened: "No channel can be reached",
      ways: ALL,
      channels: ["nobody", "nobody"],
      provider: [],
      sees: { status: 502, code: "upstream_unreachable" },
      record: "none",
      charges: NOTHING,
      next: 502,
    },
  ],
};

/** A row of a request that is not sent. */
function unsent(happened: string, status: number, code: string, rest: Partial<Row>): Row {
  return {
    happened,
    ways: ALL,
    provider: [],
    sees: { status, code },
    record: "none",
    charges: NOTHING,
    ...rest,
  };
}

export const UNSENT: RowGroup = {
  title: "The gateway refuses",
  introduction: "Nothing is sent, nothing is charged, and there is no record.",
  rows: [
    unsent("`beforeSend` refuses", 403, "request_refused", {
      options: () => ({
        beforeSend: () => {
          throw new GatewayError("request_refused", "Not here.");
        },
      }),
      next: 403,
    }),
    unsent("A limit of the caller is reached", 429, "rate_limit_exceeded", {
      asked: 2,
      options: () => ({ limits: { concurrent: 1, imagesPerMinute: 1 } }),
    }),
    unsent("The budget does not cover the hold", 403, "insufficient_quota", {
      asked: 2,
      budget: charges("0.49", "0.32767"),
    }),
  ],
};

export const BUDGETS: RowGroup = {
  title: "The hold and the budget",
  introduction:
    "A request passes if its hold fits into what is left of the caller's budget. If the response has more images than the request asked for, all of them are charged.",
  rows: [
    {
      happened: "The budget is exactly the hold: the request passes",
      ways: ALL,
      asked: 2,
      budget: charges("0.5", "0.32768"),
      provider: [makes({ images: 2, usage: report(2) })],
      sees: { status: 200, images: 2 },
      charges: charges("0.5", "0.32768"),
      next: 403,
    },
    {
      happened: "The budget is exactly the hold, and more images are made: all of them are charged",
      ways: ALL,
      budget: ONE,
      provider: [makes({ images: 2, usage: report(2) })],
      sees: { status: 200, images: 2 },
      charges: charges("0.5", "0.32768"),
      next: 403,
    },
  ],
};
