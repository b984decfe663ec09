// Every package is ESM only; `require` of its entries works on the Node versions of `engines`.
const entries = [
  require("@calotype/core").createGateway,
  require("@calotype/core/billing").calculateCharge,
  require("@calotype/core/families"),
  require("@calotype/core/sse").relaySse,
  require("@calotype/node").toNodeHandler,
  require("@calotype/express").toExpressHandler,
  require("@calotype/koa").toKoaMiddleware,
  require("@calotype/ledger").writeLedgerDump,
  require("@calotype/mcp").mcp,
  require("@calotype/s3").createS3Store,
  require("@calotype/sqlite").createSqliteLedger,
  require("@calotype/emulator").createEmulator,
];
const missing = entries.findIndex((entry) => entry === undefined);
if (missing !== -1) throw new Error(`Entry ${missing} lacks its main export.`);
process.stdout.write(`required ${entries.length} entries\n`);
