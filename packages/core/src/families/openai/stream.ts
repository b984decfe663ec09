import type { MadeImage, ReportedFailure, Usage } from "../../types.js";
import { addDecimals, formatDecimal, readDecimal } from "../../util/decimal.js";
import type { Dialect } from "../dialect.js";
import type { StreamReader, StreamShape } from "../response-shape.js";
import { parseData, readMadeImage } from "../shared.js";
import { type Codes, toReportedFailure } from "./failure.js";
import type { ReadUsage } from "./response.js";

/** The events of OpenAI's API. Partial images are not among the images. */
export const OPENAI_EVENTS: StreamShape = {
  imageEvents: ["image_generation.completed", "image_edit.completed"],
  created: "created_at",
  leftOut: ["type", "created_at", "usage"],
  format: "openai",
};

/** Far more than one request can make. A stream cannot fill the memory. */
const MAX_IMAGES = 1_000;

/**
 * Creates the reader of OpenAI's events: one `completed` for each image, with its own usage, which is summed. OpenAI does
 * not say whether the usage of several images is a running total.
 */
export function createStreamReader(
  codes: Codes,
  readUsage: ReadUsage,
): (...request: Parameters<NonNullable<Dialect["readStream"]>>) => StreamReader {
  return ({ maxImages }) => {
    const made: MadeImage[] = [];
    const reports: Usage[] = [];
    let failure: ReportedFailure | undefined;
    const reader = {
      isOver: false,
      read({ event, data }: Parameters<StreamReader["read"]>[0]): void {
        const body = parseData(data);
        const type = body?.["type"] ?? event;
        if (type === "error" || body?.["error"]) {
          failure = toReportedFailure(codes, body ?? {});
        } else if (body !== undefined && OPENAI_EVENTS.imageEvents.some((name) => name === type)) {
          if (made.length >= MAX_IMAGES) return;
          made.push(readMadeImage(body));
          const usage = readUsage(body["usage"]);
          if (usage !== undefined) reports.push(usage);
          reader.isOver = made.length >= maxImages;
        }
      },
      result: () => ({
        images: made.length,
        made,
        usage: sumUsage(reports, made.length),
        hasUnknownTokens: reports.length < made.length,
        failure,
      }),
    };
    return reader;
  };
}

function sumUsage(reports: readonly Usage[], images: number): Usage | undefined {
  if (images === 0) return undefined;
  const sum: Record<string, number> = {};
  for (const [name, count] of reports.flatMap((report) => Object.entries(report))) {
    if (typeof count === "number") sum[name] = (sum[name] ?? 0) + count;
  }
  const costs = reports.flatMap(({ cost_usd }) => cost_usd ?? []);
  return {
    generated_images: images,
    ...sum,
    ...(costs.length > 0 && { cost_usd: formatDecimal(costs.map(readDecimal).reduce(addDecimals)) }),
  };
}
