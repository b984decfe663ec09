import { describe } from "vitest";
import type { AdapterHost } from "./adapter-suite/adapter-host.js";
import { describeConnections } from "./adapter-suite/describe-connections.js";
import { describeCors } from "./adapter-suite/describe-cors.js";
import { describeEarlyStreams } from "./adapter-suite/describe-early-streams.js";
import { describeFiles, describeLargeFiles } from "./adapter-suite/describe-files.js";
import { describeHealth } from "./adapter-suite/describe-health.js";
import { describeLargeBodies } from "./adapter-suite/describe-large-bodies.js";
import { describeLargeResponses } from "./adapter-suite/describe-large-responses.js";
import { describeLeavingClients, describeUnreadResponses } from "./adapter-suite/describe-leaving-clients.js";
import { describeModels } from "./adapter-suite/describe-models.js";
import { describeMountPaths } from "./adapter-suite/describe-mount-paths.js";
import { describeOpenApi } from "./adapter-suite/describe-openapi.js";
import { describeParsers } from "./adapter-suite/describe-parsers.js";
import { describePaths } from "./adapter-suite/describe-paths.js";
import { describeReference } from "./adapter-suite/describe-reference.js";
import { describeResponses } from "./adapter-suite/describe-responses.js";
import { describeStreams } from "./adapter-suite/describe-streams.js";
import { describeTasks, describeWaitingClients } from "./adapter-suite/describe-tasks.js";
import { describeUploads } from "./adapter-suite/describe-uploads.js";
import { isFull } from "./support/test-run.js";
import { useProviders } from "./support/use-providers.js";

/**
 * Describes the behaviour of a gateway in every host. The test file of each host calls this function once.
 */
export function describeAdapter(host: AdapterHost): void {
  describe(`a gateway in ${host.name}`, () => {
    const providers = useProviders();
    describeResponses(host, providers);
    describePaths(host, providers);
    describeModels(host, providers);
    describeCors(host, providers);
    describeHealth(host, providers);
    describeOpenApi(host, providers);
    describeReference(host, providers);
    describeFiles(host, providers);
    describeTasks(host, providers);
    describeParsers(host, providers);
    if (hasLongTests(host)) {
      describeLargeBodies(host, providers);
      describeLargeResponses(host, providers);
    }
    if (host.hasMountPaths) describeMountPaths(host, providers);
    if (host.hasSocket) {
      describeConnections(host, providers);
      describeStreams(host);
      describeUploads(host, providers);
      describeLeavingClients(host, providers);
      if (hasLongTests(host)) {
        describeLargeFiles(host, providers);
        describeWaitingClients(host, providers);
        describeEarlyStreams(host, providers);
        describeUnreadResponses(host, providers);
      }
    }
  });
}

const hasLongTests = ({ sharesAdapter = false }: AdapterHost): boolean => isFull() || !sharesAdapter;
