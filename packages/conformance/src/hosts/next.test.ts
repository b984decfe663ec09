import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeConnections } from "../adapter-suite/describe-connections.js";
import { describeCors } from "../adapter-suite/describe-cors.js";
import { describeEarlyStreams } from "../adapter-suite/describe-early-streams.js";
import { describeFiles, describeLargeFiles } from "../adapter-suite/describe-files.js";
import { describeLargeBodies } from "../adapter-suite/describe-large-bodies.js";
import { describeLargeResponses } from "../adapter-suite/describe-large-responses.js";
import { describeLeavingClients } from "../adapter-suite/describe-leaving-clients.js";
import { describeModels } from "../adapter-suite/describe-models.js";
import { describeResponses } from "../adapter-suite/describe-responses.js";
import { describeStreams } from "../adapter-suite/describe-streams.js";
import { describeTasks, describeWaitingClients } from "../adapter-suite/describe-tasks.js";
import { mountFor } from "../adapter-suite/mount-for.js";
import { describeStores } from "../results/describe-stores.js";
import { describeSignInOnNext } from "../signed-in-users/describe-next.js";
import { describeStudioOnNext } from "../studio/describe-next.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import type { Listening } from "../support/listen.js";
import { startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { describeTaskLedgers } from "../tasks/describe-task-ledgers.js";
import { createHosts } from "./every-host.js";
import { createNextHost, startNext } from "./next-host.js";

let server: Listening;
beforeAll(async () => {
  server = await startNext();
}, 120_000);
afterAll(() => server?.close());

// Next.js decides which paths reach a route, and what happens if an upload continues after its response.
describe("a gateway in Next.js", () => {
  const providers = useProviders();
  const host = createNextHost(() => server);
  describeResponses(host, providers);
  describeModels(host, providers);
  describeCors(host, providers);
  describeFiles(host, providers);
  describeLargeFiles(host, providers);
  describeTasks(host, providers);
  describeWaitingClients(host, providers);
  describeLargeBodies(host, providers);
  describeLargeResponses(host, providers);
  describeConnections(host, providers);
  describeStreams(host);
  describeEarlyStreams(host, providers);
  describeLeavingClients(host, providers);
  describeStudioOnNext(() => server, providers);

  it.each([
    { basePath: undefined, path: "/v1/images/generations", status: 200 },
    { basePath: undefined, path: "/v1/images/generations/extra", status: 404 },
    { basePath: undefined, path: "/ai/v1/images/generations", status: 200 },
    { basePath: "/ai", path: "/ai/v1/images/generations", status: 200 },
    { basePath: undefined, path: "/ai/v1/images/variations", status: 404 },
    { basePath: "/ai", path: "/v1/images/generations", status: 404 },
    { basePath: "/art", path: "/ai/art/v1/images/generations", status: 200 },
    { basePath: "/art", path: "/art/v1/images/generations", status: 200 },
    { basePath: "/art", path: "/ai/v1/images/generations", status: 404 },
    { basePath: undefined, path: "/exact/v1/images/generations", status: 200 },
    { basePath: "/exact", path: "/exact/v1/images/generations", status: 200 },
  ])("responds to $path with $status when its base path is $basePath", async ({ basePath, path, status }) => {
    const { gateway } = startGateway(providers(), { basePath });
    const { send } = await mountFor(host, gateway);

    expect((await send({ ...jsonCall(SEEDREAM_BODY), path })).status).toBe(status);
  });

  it.each([
    ["/ai/v1/models/team%2Fposter", 200],
    ["/ai/v1/models/team/poster", 200],
    ["/ai/v1/models/%C3%A9t%C3%A9", 404],
    ["/v1/models", 200],
    ["/deeper/v1/models", 200],
  ])("responds to GET %s, below the folder of its route, with %i", async (path, status) => {
    const { gateway } = startGateway(providers(), {
      models: { "team/poster": { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
      billing: undefined,
    });
    const { send } = await mountFor(host, gateway);

    const { headers } = jsonCall({});
    const response = await send({ method: "GET", path, headers: headers ?? {} });
    expect({ status: response.status, text: response.text }).toMatchObject({
      status,
      text: expect.stringContaining(status === 200 ? '"team/poster"' : "model_not_found"),
    });
  });
});

describe("signed-in users on Next.js", () => {
  describeSignInOnNext(() => server, useProviders({ images: "tiny", millisecondsPerImage: 50 }));
});

// Here, because the build of the Next.js app takes long.
describe("every host", () => {
  const hosts = createHosts(() => server);
  describeStores(hosts);
  describeTaskLedgers(hosts);
});
