import { report } from "./making.js";
import { NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import { accepts, cuts, ends, loses, makes, refuses, waits } from "./script.js";

const success = makes({ images: 1, usage: report(1) });
const code = "JobFailed";

const common = { ways: ["job"] } as const;
/** A second channel that must not be used. */
const twoChannels = { ...common, channels: ["provider", "provider"] } as const;

/** A request whose response is an error of the provider. */
function failing(happened: string, provider: Row["provider"], status: number, rest: Partial<Row> = {}): Row {
  return {
    ...twoChannels,
    happened,
    provider,
    sees: { status, code },
    charges: NOTHING,
    repeat: "stored",
    ...rest,
  };
}

export const JOBS: RowGroup = {
  title: "A provider that works with jobs",
  introduction:
    "The provider responds with the id of a [job](families/adding-a-family.md#jobs-of-the-provider), and the gateway polls its state until it has ended. Once the provider accepted a request it is not sent again, neither to this channel nor to another one. If the process ends meanwhile, the hold stays, and [another process continues](holds.md#requests-that-another-process-continues).",
  rows: [
    {
      ...common,
      happened: "A job that is done after a while",
      provider: [accepts, waits(), waits(), success],
      sees: { status: 200, images: 1 },
      charges: ONE,
    },
    {
      ...common,
      happened: "Polls of the job that fail are repeated",
      provider: [accepts, refuses(500, "InternalError"), cuts, refuses(404, "NotFound"), success],
      sees: { status: 200, images: 1 },
      charges: ONE,
    },
    {
      ...twoChannels,
      happened: "The submission is refused with a 503: it goes to the next channel",
      provider: [refuses(503, "ServiceUnavailable"), accepts, success],
      sees: { status: 200, images: 1 },
      record: { images: 1, channel: "channel 2" },
      charges: ONE,
    },
    failing("The submission is refused for its content", [refuses(400, code)], 400, { repeat: "runs" }),
    failing("The job ends with a refusal of its content", [accepts, waits(), ends("content", code)], 400, {
      repeat: "runs",
    }),
    failing("The job ends with a refusal because of the rate", [accepts, ends("rate", code)], 429, {
      repeat: "runs",
    }),
    failing("The job ends with an error", [accepts, ends("server", code)], 502),
    failing(
      "The provider does not know the job any more",
      [accepts, ...Array.from({ length: 5 }, () => refuses(404, code))],
      502,
    ),
    failing("The response to the submission breaks off, or has no id", [loses], 502, {
      sees: { status: 502, code: "upstream_invalid_response" },
    }),
    failing("The job has not ended when its time is over", [accepts, waits(60), waits()], 504, {
      sees: { status: 504, code: "upstream_timeout" },
      silenceMs: 1_500,
    }),
    failing(
      'The job has not ended when its time is over, with `onLost: "charge"`',
      [accepts, waits(60), waits()],
      504,
      { sees: { status: 504, code: "upstream_timeout" }, silenceMs: 1_500, onLost: "charge" },
    ),
  ],
};
