import { spoilUsage } from "../faults/spoil-usage.js";
import type { ProviderCall } from "../provider.js";
import type { DashscopeRequest } from "./read-request.js";

interface Made {
  readonly request: DashscopeRequest;
  readonly urls: readonly string[];
  readonly failed: number;
}

type ContentItem = { readonly image: string } | { readonly text: string };

/** Several images stand in one choice; the other forms were seen too and are made by faults. */
export function renderResponse({ request, urls, failed }: Made, { fault, requestId }: ProviderCall) {
  const images = urls.map((image) => ({ image }));
  const contents: ContentItem[][] = fault.severalChoices === true ? images.map((image) => [image]) : [images];
  if (fault.rewrittenPrompt !== undefined) contents[0]?.push({ text: fault.rewrittenPrompt });
  const { width, height } = request.size;
  const countName = fault.outputImageCount === true ? "output_image_count" : "image_count";
  return {
    output: {
      choices: contents.map((content) => ({
        finish_reason: "stop",
        message: { role: "assistant", content },
      })),
      task_metric: { TOTAL: request.n, SUCCEEDED: urls.length, FAILED: failed },
    },
    ...spoilUsage({ width, height, [countName]: urls.length }, fault),
    request_id: requestId,
  };
}
