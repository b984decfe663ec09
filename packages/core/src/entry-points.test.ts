import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The names that a module exports. Entry points have lists of exports and of modules, or are the module of one constant. */
function namesOf(file: string): readonly string[] {
  const source = readFileSync(new URL(file, import.meta.url), "utf8");
  const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\} from "[^"]+";$/gm)];
  const constants = [...source.matchAll(/^export (?:async )?(?:const|function\*?|interface|type) (\w+)/gm)];
  const modules = [...source.matchAll(/^export (?:type )?\* from "([^"]+)\.js";$/gm)];
  expect(source.match(/^export/gm)).toHaveLength(lists.length + constants.length + modules.length);
  const names = [...lists, ...constants].flatMap(([, list = ""]) => list.split(","));
  const own = names.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "");
  return [...own, ...modules.flatMap(([, module]) => namesOf(`${module}.ts`))];
}

/** The exports of each entry point. Add a new public name here. */
const ENTRY_POINTS: Readonly<Record<string, string>> = {
  "./index.ts": `
    AfterImage AfterImageCall Authenticate BeforeSend BillingOptions BodyLimits Caller CallerEndpoints CallerLimits
    CallerOptions Capabilities CapabilityRows ChannelOptions ClientName CloseOptions consoleLogger CorsOptions
    createGateway createMemoryAdmissionStore createMemoryLedger DecimalInput ErrorCode ErrorType FailureEvent Fetch
    FindEndpoints FinishedImage Gateway GatewayError GatewayErrorDetails GatewayOptions GatewayOptionsError
    generateApiKey GeneratedApiKey hashApiKey IdempotencyOptions ImageRequest isGatewayError Loadable Logger
    ModelOptions Operation OptionsProblem Preferences ReleasedRecord RequestEvent ResponseFormat ResultsOptions
    SettledRecord SizeMode StreamFormat TaskOptions Telemetry TimeoutOptions UnresolvedRecord Usage UsageRecord
    WebhookEndpoint WebhooksOptions`,
  "./adapter.ts": `
    allowFreeing AttemptDetail AttemptObserver CallObserver ClientSignal CooldownChange checkMounted checkOptionNames createFetch equalsInConstantTime freeChunk Gateway
    GatewayRequest GatewayResponse GatewayResponseBody HeaderReader HoldEndReport isFreeable MountedHandler
    ObservedResponse ReadableLike SkippedRoute StartedAttempt StartedCall Telemetry toChunks WebHost Awaitable ChunkFlow ChunkSink openFlow`,
  "./stores.ts": `
    BudgetAlert BudgetLedger BudgetPeriod BudgetStore BudgetThreshold createAlert createAlertListeners findAlerts findPeriod
    findPeriodsAround MAX_ALERT_AGE_MS parsePeriodKey PeriodBalance PeriodFilter PeriodSpan PeriodUnit readListLimit readTagKey CallerBalance
    StoredAlert StoredHold toPeriodBalance toStoredName withPeriod
    addDecimals AdmissionDecision AdmissionRequest AdmissionStore AttemptRecord Balance ByteRange CallerAuditLine
    CallerAuditPage CallerChange CallerLedger CallerLookup CallerPage CallerStore CallerUpdate checkCallerUpdate checkHold
    checkOptionNames checkRecord checkStoredCallerId checkTask checkTaskEnd checkUpstream checkTaskImages checkWebhookAttempt compareAge ConcurrencyLimit consoleLogger Cooldown Counts CountsRequest createMemoryAdmissionStore
    createMemoryLedger createTakenRecords Decimal EntryFailure formatDecimal GatewayError HoldRecord KeptHold MAX_REFUSAL_BATCH MAX_REFUSALS MAX_REFUSALS_OF_CALLER parseRefusal Refusal RefusalLedger RefusalStore
    HoldResult IdempotencyOutcome IdempotencyRequest ImageToStore isAtMost isName Ledger Logger LostPolicy
    MemoryAdmissionStore MemoryAdmissionStoreOptions MemoryLedgerOptions multiplyDecimal negateDecimal NewTask Operation Outbox parseHold
    parseRecord readDecimal RecordFilter ReleasedRecord reportFailures ResultStore SettledRecord StoredCaller StoredImage StoredKey StoredResponse StoreImage
    SweepOptions TakeKeptOptions TakenRecords TakenTask TakeOptions Task TaskChange TaskEnd TaskLedger TaskPage TaskRepeat TaskStatus
    SettleResult TaskRoom fitsShare Holdings TaskStore TaskSubmission TaskSweep TaskSweepOptions toInstant toReleasedRecord TotalsKey toUnresolvedRecord
    addCounts assertWanted ClientSignal compareStrings CountsOf ReportOptions
    countRecord createCounts createUsageHistory DURATION_LIMITS findDuration GrowingCounts HistoryLedger HistoryStore PageCursor PageQuery
    readFacts SeriesKey SumQuery TimeSpan UsageCounts UsageFacts UsageHistory UsageOutcome
    BUDGET_STORE CALLER_STORE KEPT_HOLDS REFUSAL_STORE TASK_STORE USAGE_HISTORY USAGE_REPORTS createMinimalLedger findAbility KeptHoldStore LedgerAbility MinimalLedger
    UnresolvedRecord Usage UsageRecord UsageReports UsageTotal WebhookAttempt WebhookEndpointName WebhookFilter WebhookMessage WebhookStore WebhookTakeOptions WindowLimit WindowState`,
  "./billing.ts": `
    BudgetAlert BudgetPeriod BudgetReports BudgetStatus BudgetThreshold findPeriod PeriodBalance PeriodFilter PeriodicBudget
    PeriodSpan PeriodUnit AlikeImages AttemptRecord Balance calculateCharge Charge ChargeDerivation ChargeInput ChargeLine
    createMemoryLedger DecimalInput estimateCharge EstimateInput exportRecords ImagePrice
    ItemizedDerivation LostPolicy MadeImage MemoryLedgerOptions ModelDetails Operation PerImageDetails
    PerRequestDerivation PerRequestDetails PerTokenDerivation PerTokenDetails PriceBasis PriceTables PriceTier
    RecordFilter ReleasedRecord ReportOptions RequestBounds RoundingLine SettledRecord TokenKind TotalsKey
    createRepricer RepricedSums RepricedUsage Repricer repriceRecords GatewayUsage HistoryLedger RecordPage RecordQuery SeriesKey SeriesQuery UsageHistory UsageLine UsageOutcome UsageSeries
    UsageSums UnresolvedRecord Usage UsageRecord UsageReports UsageTotal`,
  "./compose.ts": `
    ComposedGateway ComposeOptions composeGateway Composition Contribution cors Feature GatewayError GatewayRoute Kernel limits LimitsOptions`,
  "./families/index.ts": `
    applyImageCount BackgroundRules Capabilities Base64Image checkSize countUpstreamCalls Dialect FailedResponse FieldTypes FormPart ProviderJob ReportedFailure Submission JobProtocol JobState ProviderTask TaskProtocol TaskState UpstreamBody createUploadedImage failureKindOfStatus FailureReason
    findNearestRatio findNearestSize parsePixels WantedSize
    FailureScope Family ImageBytes ImageRequest ImageResult invalidRequest isJsonObject
    isReferenceImage isUploadedImage JsonObject MadeImage LayerRules NativePath NormalizeContext Operation ProducedBody qwenImage readCost readCount readMadeImage
    readText
    ReferenceImage ResponseFormat ResponseShape ResultError ResultImage seedream SequentialFields
    SizeLimits SizeMode SizeStyle StreamFormat StreamReader StreamResult StreamShape toBase64 toJsonBody toReferenceImage UploadedImage
    UpstreamCall UpstreamFailure UpstreamFailureKind Usage`,
  "./families/gemini/gemini.ts": "gemini",
  "./families/openai/index.ts": "openai",
  "./openapi.ts": "openApiDocument",
  "./operator.ts": `
    AttemptCounts BudgetReports BudgetStatus CallerAuditEntry CallerInfo CallerKey CallerList CallerPatch Callers
    CallerSettings CallerWithKey ChangedField ChangeOptions ChannelControl ChannelError ChannelPause ChannelProbe ChannelProbeOptions
    ChannelState ChannelStatus EstimateQuery GatewayStatus GatewayUsage HealthCheckStatus HealthState KeyOptions
    KeyProbe KeyStatus LimitReports LimitsPatch LimitStatus ModelStatus PauseOptions ProbeEstimate ProbeModel
    OptionSource Refusal Refusals RequestEstimate ResumeOptions RotateOptions RunTasksOptions TaskBatch WebhookEndpointName WebhookFilter
    WebhookMessage Webhooks`,
  "./features/reference-page/index.ts": "createReference ReferenceOptions ReferencePage",
  "./testing.ts": `
    createFamilyChecks Dependencies FamilyCheck FamilyCheckError FamilySubject RecordedExchange RecordedFailure RecordedRequest
    RecordedResponse RecordedJob RecordedTask Repeat RetryBudgetPolicy Transport TransportError TransportRequest TransportResponse`,
  "./sse.ts": `
    AbandonedStream createSseReader RelayEnd RelayEnding RelayOptions relaySse SseEvent SseReader`,
};

describe("the entry point", () => {
  it.each(Object.entries(ENTRY_POINTS))("%s exports exactly the listed names", (file, names) => {
    expect(namesOf(file).toSorted()).toEqual(names.split(/\s+/).filter(Boolean).toSorted());
  });

  it("index.ts has fewer than 60 names", () => {
    expect(namesOf("./index.ts").length).toBeLessThan(60);
  });

  it("lists are those of package.json", () => {
    const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const entries: readonly unknown[] = Object.values(exports).filter((entry) => typeof entry === "object");
    const expected = Object.keys(ENTRY_POINTS).map((file) => {
      const built = file.replace(/^\./, "./dist").replace(/\.ts$/, "");
      const esm = { types: `${built}.d.ts`, default: `${built}.js` };
      if (file !== "./billing.ts") return esm;
      // Node gets the ES module in both cases. Tools that cannot load one, such as jest, get the CommonJS build.
      const commonJs = { types: `${built}.d.cts`, default: `${built}.cjs` };
      return { "module-sync": esm, require: commonJs, ...esm };
    });
    expect(entries).toHaveLength(expected.length);
    expect(entries).toEqual(expect.arrayContaining(expected));
  });
});
