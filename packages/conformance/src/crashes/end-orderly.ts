import { isDeepStrictEqual } from "node:util";
import type { Site } from "./open-site.ts";
import { byId, readLedgerFile, readSink } from "./read-ledger-file.ts";
import { recover } from "./recover.ts";

/** Starts one more server and shuts it down, so that `onUsage` has got every record of the ledger. */
export async function endOrderly(site: Site, name: string): Promise<readonly string[]> {
  const server = await site.startServer();
  const problems = await recover(site, server, name);
  const exitCode = await server.stop();
  const { records } = await readLedgerFile(site.ledgerPath);
  const isDelivered = isDeepStrictEqual(readSink(site.sinkPath), byId(records));
  return [
    ...problems,
    ...server.errors(),
    ...(exitCode === 0 ? [] : [`The server ended with ${exitCode}`]),
    ...(isDelivered ? [] : ["onUsage did not get every record as the ledger has it"]),
  ];
}
