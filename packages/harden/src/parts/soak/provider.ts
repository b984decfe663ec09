import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import {
  completedEvent,
  DONE,
  imageEvent,
  report,
  writeMaking,
} from "@calotype/conformance/settlement/making";
import { type Listening, listen } from "@calotype/conformance/support/listen";

/** Behaviours of the provider. The prompt of a request names one. */
export const BEHAVIOURS = ["image", "large image", "refusal", "overload", "broken connection"] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

const WORK_MS = 5;
/** The gateway relays a response of this size while it arrives. */
const LARGE_BYTES = 300_000;

/** A provider of family A that behaves as the prompt says. */
export async function startProvider(): Promise<Listening> {
  return await listen((request, response) => {
    request.on("error", () => undefined); // the gateway may disconnect
    void text(request).then(
      (body) => respond(response, JSON.parse(body)),
      () => undefined,
    );
  });
}

interface Body {
  readonly prompt: string;
  readonly stream?: boolean;
}

async function respond(response: ServerResponse, { prompt, stream = false }: Body): Promise<void> {
  await sleep(WORK_MS);
  switch (BEHAVIOURS.find((behaviour) => behaviour === prompt)) {
    case "refusal":
      return refuse(response, 400, "InputTextSensitiveContentDetected");
    case "overload":
      return refuse(response, 503, "ServerOverloaded");
    case "broken connection":
      begin(response, stream).write(stream ? imageEvent(0) : '{"data":[');
      await sleep(WORK_MS);
      response.destroy();
      return;
    case "large image":
      begin(response, false).end(largeBody());
      return;
    case "image":
    case undefined:
      if (stream) await sendEvents(response);
      else begin(response, false).end(writeMaking("Seedream", { images: 1, usage: report(1) }));
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(JSON.stringify({ error: { code, message: "No." } }));
}

async function sendEvents(response: ServerResponse): Promise<void> {
  begin(response, true);
  for (const event of [imageEvent(0), imageEvent(1), completedEvent(report(2)), DONE]) {
    response.write(event);
    await sleep(WORK_MS);
  }
  response.end();
}

function begin(response: ServerResponse, isStream: boolean): ServerResponse {
  return response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
}

function largeBody(): string {
  const data = [{ b64_json: "A".repeat(LARGE_BYTES), size: "2048x2048" }];
  return `${JSON.stringify({ model: "ep-1", created: 1_763_683_200, data }).slice(0, -1)},"usage":${report(1)}}`;
}
