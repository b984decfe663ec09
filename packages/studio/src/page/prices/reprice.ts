import type { RepriceLine, RepriceRequest, RepriceResult } from "../../wire.js";
import { ApiError, send } from "../api.js";

/** How far the server is. */
export interface RepriceProgress {
  readonly records: number;
  readonly until: string;
}

/**
 * Asks what a period would have cost, and tells how far the server is.
 *
 * @throws ApiError also if the records cannot be read to their end
 */
export async function reprice(
  request: RepriceRequest,
  {
    signal,
    onProgress,
  }: { readonly signal: AbortSignal; readonly onProgress: (at: RepriceProgress) => void },
): Promise<RepriceResult> {
  const response = await send("prices/reprice", { method: "POST", body: request, signal });
  for await (const line of readLines(response)) {
    if (line.kind === "result") return line.result;
    if (line.kind === "error") throw new ApiError(500, line.error);
    onProgress(line);
  }
  throw new ApiError(0, { code: "unreachable", message: "The response broke off." });
}

async function* readLines(response: Response): AsyncGenerator<RepriceLine> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = `${rest}${decoder.decode(value, { stream: true })}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const parsed: RepriceLine = JSON.parse(line);
        yield parsed;
      }
    }
  } finally {
    // The server stops reading records.
    await reader.cancel().catch(() => undefined);
  }
}
