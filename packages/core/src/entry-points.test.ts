import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The names that a module exports. Entry points only have lists of exports. */
function namesOf(file: string): readonly string[] {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\} from "[^"]+";$/gm)];
  expect(source.match(/^export/gm)).toHaveLength(lists.length);
  const names = lists.flatMap(([, list = ""]) => list.split(","));
  return names.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "");
}

/** The exports of each entry point. Add a new public name here. */
const ENTRY_POINTS: Readonly<Record<string, string>> = {
  "./index.ts": `
    AfterImage AfterImageCall AttemptRecord Authenticate BeforeSend BillingOptions BodyLimits Caller CallerLimits CallerOptions
    Capabilities CapabilityRows ChannelOptions ChannelProbe ChannelProbeOptions ChannelStatus ClientName CloseOptions
    consoleLogger CorsOptions createGateway createMemoryAdmissionStore createMemoryLedger DecimalInput ErrorCode
    ErrorType FailureEvent Fetch FinishedImage Gateway GatewayError GatewayErrorDetails GatewayOptions
    GatewayOptionsError GatewayStatus generateApiKey GeneratedApiKey hashApiKey IdempotencyOptions
    ImageRequest isGatewayError JsonObject KeyProbe KeyStatus Loadable Logger LostPolicy
    MemoryAdmissionStoreOptions MemoryLedgerOptions ModelOptions ModelStatus Operation OptionsProblem
    Preferences ReferenceImage ReleasedRecord RequestEvent ResponseFormat ResultsOptions SettledRecord SizeMode StreamFormat TimeoutOptions
    UnresolvedRecord Usage UsageRecord`,
  "./adapter.ts": `
    allowFreeing freeChunk Gateway GatewayRequest GatewayResponse GatewayResponseBody HeaderReader
    isFreeable ReadableLike toChunks`,
  "./stores.ts": `
    addDecimals AdmissionDecision AdmissionRequest AdmissionStore AttemptRecord Balance ByteRange checkHold
    checkRecord compareAge ConcurrencyLimit consoleLogger Cooldown createMemoryAdmissionStore
    createMemoryLedger createTakenRecords Decimal EntryFailure formatDecimal GatewayError HoldRecord
    HoldResult IdempotencyOutcome IdempotencyRequest ImageToStore isAtMost isName Ledger Logger LostPolicy
    MemoryAdmissionStoreOptions MemoryLedgerOptions multiplyDecimal negateDecimal Operation Outbox parseHold
    parseRecord readDecimal RecordFilter ReleasedRecord reportFailures ResultStore SettledRecord StoredImage StoredResponse StoreImage
    SweepOptions TakenRecords toInstant toReleasedRecord TotalsKey toUnresolvedRecord
    UnresolvedRecord Usage UsageRecord UsageReports UsageTotal WindowLimit WindowState`,
  "./billing/index.ts": `
    AttemptRecord Balance calculateCharge Charge ChargeDerivation ChargeInput ChargeLine
    createMemoryLedger DecimalInput estimateCharge EstimateInput exportRecords ImagePrice
    ItemizedDerivation LostPolicy MadeImage MemoryLedgerOptions ModelDetails Operation PerImageDetails
    PerRequestDerivation PerRequestDetails PerTokenDerivation PerTokenDetails PriceTables PriceTier
    RecordFilter ReleasedRecord RequestBounds RoundingLine SettledRecord TokenKind TotalsKey
    UnresolvedRecord Usage UsageRecord UsageReports UsageTotal`,
  "./families/index.ts": `
    applyImageCount BackgroundRules Capabilities checkSize countUpstreamCalls createUploadedImage failureKindOfStatus FailureReason
    findNearestSize WantedSize
    FailureScope Family FormFieldTypes ImageBytes ImageRequest ImageResult invalidRequest isJsonObject
    isUploadedImage JsonObject MadeImage LayerRules NativePath NormalizeContext Operation ProducedBody qwenImage readCount readMadeImage
    readText
    ReferenceImage ResponseFormat ResponseShape ResultError ResultImage seedream SequentialFields
    SizeLimits SizeMode SizeStyle StreamFormat StreamReader StreamResult StreamShape toJsonBody toReferenceImage UploadedImage
    UpstreamCall UpstreamFailure UpstreamFailureKind Usage`,
  "./testing.ts": `
    Dependencies Repeat RetryBudgetPolicy Transport TransportError TransportRequest TransportResponse`,
  "./sse.ts": `
    AbandonedStream createSseReader RelayEnd RelayEnding RelayOptions relaySse SseEvent SseReader`,
};

describe("the entry point", () => {
  it.each(Object.entries(ENTRY_POINTS))("%s exports exactly the listed names", (file, names) => {
    expect(namesOf(file).toSorted()).toEqual(names.split(/\s+/).filter(Boolean).toSorted());
  });

  it("index.ts has fewer than 70 names", () => {
    expect(namesOf("./index.ts").length).toBeLessThan(70);
  });

  it("lists are those of package.json", () => {
    const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const files = Object.keys(ENTRY_POINTS).map((file) => file.replace(/(\/index)?\.ts$/, ""));
    const entries = Object.keys(exports).filter((entry) => entry !== "./package.json");
    expect(files.toSorted()).toEqual(entries.toSorted());
  });
});
