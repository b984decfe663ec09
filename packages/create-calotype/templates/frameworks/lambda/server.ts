import { pipeline } from "node:stream/promises";
import type { LambdaFunctionURLEvent } from "aws-lambda";
import { gateway } from "./gateway.ts";

/** For a function URL whose invoke mode is RESPONSE_STREAM. */
export const handler = awslambda.streamifyResponse<LambdaFunctionURLEvent>(async (event, output) => {
  const work: Promise<unknown>[] = [];
  const response = await gateway.fetch(toRequest(event), { waitUntil: (task) => work.push(task) });
  const body = awslambda.HttpResponseStream.from(output, {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
  });
  await pipeline(response.body ?? [], body);
  // Lambda stops the process when this function returns.
  await Promise.allSettled(work);
});

function toRequest({
  rawPath,
  rawQueryString,
  requestContext,
  headers,
  ...event
}: LambdaFunctionURLEvent): Request {
  // Lambda sends forms and other bytes in base64.
  const body = event.body && Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8");
  return new Request(`https://${requestContext.domainName}${rawPath}?${rawQueryString}`, {
    method: requestContext.http.method,
    headers: headers as Record<string, string>,
    body: body || null,
  });
}
