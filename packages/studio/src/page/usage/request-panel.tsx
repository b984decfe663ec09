import { addDecimals, formatDecimal, negateDecimal, readDecimal } from "@calotype/core/stores";
import { type ComponentChildren, Fragment } from "preact";
import type { CallCost, CostLine, FoundRequest, RefusedRequest, UsageRecord } from "../../wire.js";
import { call } from "../api.js";
import { Derivation, writeDerivation } from "../components/derivation.js";
import { Code, CopyButton, CopyText, Failure, Loading, Status } from "../components/feedback.js";
import { Panel } from "../components/panel.js";
import { useUnits, withUnit } from "../currency.js";
import { formatAmount, formatCount, formatDuration, formatTime, shorten } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { useData } from "../use-data.js";
import { OutcomeOf } from "./outcome.js";
import { StoredImages } from "./stored-images.js";
import { Timeline } from "./timeline.js";

/** A request beside the list: what happened to it, how its charge was computed, and its record. */
export function RequestPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { usage: text } = useMessages();
  const path = `requests/${encodeURIComponent(id)}`;
  const { data, error, reload } = useData(path, () => call<FoundRequest>(path));
  return (
    <Panel
      label={text.details(id)}
      title={shorten(id)}
      fullTitle={id}
      head={<CopyButton text={id} label={text.requestId} />}
      onClose={onClose}
    >
      {data === undefined && error === undefined && <Loading />}
      {error?.status === 404 && <p role="status">{text.notRecorded}</p>}
      {error !== undefined && error.status !== 404 && <Failure error={error} onRetry={reload} />}
      {data?.state === "refused" && <RefusalDetails refusal={data} />}
      {data !== undefined && data.state !== "refused" && <Details record={data} />}
    </Panel>
  );
}

/** Why a request without a record was refused. */
function RefusalDetails({ refusal }: { readonly refusal: RefusedRequest }) {
  const { usage: text, errors, language } = useMessages();
  const { state: _, ...raw } = refusal;
  const { time, method, path, status, code, param, limit, budget, caller, model, durationMs } = refusal;
  const facts: readonly Fact[] = [
    [
      text.result,
      <Status key="result" tone="warn">
        {text.outcomes.refused}: {status} {code}
      </Status>,
    ],
    [text.time, formatTime(time, language)],
    [text.path, <bdi key="path">{`${method} ${path}`}</bdi>],
    ...(param === undefined ? [] : [[text.field, <bdi key="field">{param}</bdi>] as const]),
    ...(limit === undefined ? [] : [[text.limit, limit] as const]),
    ...(budget === undefined
      ? []
      : ([
          [text.askedAtMost, formatAmount(budget.asked)],
          [text.budgetLeft, formatAmount(budget.left)],
        ] as const)),
    ...(caller === undefined
      ? []
      : [[text.dimensions.caller, <CallerLink key="caller" caller={caller} />] as const]),
    ...(model === undefined ? [] : [[text.dimensions.model, <bdi key="model">{model}</bdi>] as const]),
    ...(durationMs === undefined ? [] : [[text.duration, formatDuration(durationMs, language)] as const]),
  ];
  return (
    <>
      <FactList facts={facts} />
      <section class="section">
        <p>{text.noProvider}</p>
        {errors[code] !== undefined && <p>{errors[code]}</p>}
      </section>
      <details>
        <summary>{text.raw}</summary>
        <Code code={JSON.stringify(raw, null, 2)} label={text.raw} />
      </details>
    </>
  );
}

function CallerLink({ caller }: { readonly caller: string }) {
  return (
    <a href={addressOf("callers", { caller })} onClick={followLink}>
      <bdi>{caller}</bdi>
    </a>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

function Details({ record }: { readonly record: UsageRecord }) {
  const messages = useMessages();
  const { usage: text } = messages;
  const derivation = record.state === "settled" ? record.derivation : undefined;
  return (
    <>
      <Facts record={record} />
      {record.state === "settled" && record.stored !== undefined && <StoredImages record={record} />}
      <section class="section">
        <h3>{text.howCharged}</h3>
        {derivation === undefined ? (
          <p>{explainCharge(record, messages)}</p>
        ) : (
          <Derivation derivation={derivation} amount={record.charge ?? derivation.exact} />
        )}
        {record.state === "settled" && record.unpriced === true && <p>{text.unpriced}</p>}
        {record.state === "settled" && record.reportedUsage !== undefined && <p>{text.cutReport}</p>}
        <p class="actions">
          <CopyText text={writeExplanation(record, messages)}>{text.copyExplanation}</CopyText>
          <CopyText text={new URL(addressOf("usage", { request: record.id }), location.href).href}>
            {text.copyLink}
          </CopyText>
        </p>
      </section>
      {record.state === "settled" && record.costLines !== undefined && <Costs lines={record.costLines} />}
      <section class="section">
        <h3>{text.history}</h3>
        <Timeline record={record} />
      </section>
      <details>
        <summary>{text.raw}</summary>
        <Code code={JSON.stringify(record, null, 2)} label={text.raw} />
      </details>
    </>
  );
}

function Facts({ record }: { readonly record: UsageRecord }) {
  const { usage: text } = useMessages();
  const { unit: one, unitOf } = useUnits();
  const { caller, model, endUser, tags = {}, task } = record;
  const unit = one ?? unitOf(model);
  const upstreamId = record.state === "settled" ? record.upstreamRequestId : undefined;
  const facts: readonly Fact[] = [
    [text.result, <OutcomeOf key="result" record={record} />],
    [text.charge, record.charge === null ? "–" : withUnit(formatAmount(record.charge), unit)],
    ...listCosts(record, text),
    [text.images, record.images],
    [text.dimensions.caller, <CallerLink key="caller" caller={caller} />],
    [text.dimensions.model, <bdi key="model">{model}</bdi>],
    ...(endUser === undefined ? [] : [[text.dimensions.endUser, <bdi key="user">{endUser}</bdi>] as const]),
    ...Object.entries(tags).map(
      ([key, value]) =>
        [
          text.dimensions.tag,
          <bdi key={key}>
            {key}={value}
          </bdi>,
        ] as const,
    ),
    ...(task === undefined ? [] : [[text.task, <Id key="task" id={task} name={text.task} />] as const]),
    ...(upstreamId === undefined
      ? []
      : [[text.upstreamId, <Id key="upstream" id={upstreamId} name={text.upstreamId} />] as const]),
  ];
  return <FactList facts={facts} />;
}

/** The cost of a request that has one, and what is left of its charge. */
function listCosts(record: UsageRecord, text: Messages["usage"]): readonly Fact[] {
  if (record.state !== "settled" || record.costLines === undefined) return [];
  const { cost, charge } = record;
  if (cost === undefined) return [[text.cost, "–"]];
  const margin = charge === null ? [] : [[text.margin, formatAmount(subtract(charge, cost))] as const];
  return [[text.cost, formatAmount(cost)], ...margin];
}

const subtract = (from: string, amount: string): string =>
  formatDecimal(addDecimals(readDecimal(from), negateDecimal(readDecimal(amount))));

/** The cost of each upstream call, or why it is not known. */
function Costs({ lines }: { readonly lines: readonly CostLine[] }) {
  const { usage: text, language } = useMessages();
  return (
    <section class="section">
      <h3>{text.howCosted}</h3>
      {lines.map(({ call: number, channel, ...cost }, index) => {
        const name = channel ?? text.earlierAttempts;
        return (
          // The lines of a record never change their order.
          // oxlint-disable-next-line react/no-array-index-key -- see above
          <Fragment key={index}>
            <p class="wrap">
              <bdi>
                {number === undefined ? name : text.costCall(formatCount(number + 1, language), name)}
              </bdi>
            </p>
            <Cost {...cost} />
          </Fragment>
        );
      })}
    </section>
  );
}

function Cost({ amount, isReported, derivation, unknownBecause = "not_reported" }: CallCost) {
  const { usage: text } = useMessages();
  if (amount === undefined) return <p class="small soft">{text.costUnknown[unknownBecause]}</p>;
  if (derivation !== undefined) return <Derivation derivation={derivation} amount={amount} />;
  const words = isReported === true ? text.costReported(formatAmount(amount)) : text.costNothing;
  return <p class="small soft">{words}</p>;
}

function FactList({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value], index) => (
        // The facts of a request never change their order.
        // oxlint-disable-next-line react/no-array-index-key -- see above
        <Fragment key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** A long id is shortened in the middle, and copied whole. */
function Id({ id, name }: { readonly id: string; readonly name: string }) {
  return (
    <>
      <bdi class="mono" title={id}>
        {shorten(id, 24)}
      </bdi>{" "}
      <CopyButton text={id} label={name} />
    </>
  );
}

/** A charge without a derivation, in words. */
function explainCharge(record: UsageRecord, { usage: text }: Messages): string {
  if (record.charge === null) return text.notCharged;
  if (record.state === "released") return text.released;
  if (record.state === "unresolved") {
    return isZero(record.charge) ? text.lostReleased : text.lostCharged(record.charge);
  }
  return isZero(record.charge) ? text.nothingMade : text.charged(record.charge);
}

/** What a person sends to a customer who asks about a charge. */
function writeExplanation(record: UsageRecord, messages: Messages): string {
  const { usage: text, language } = messages;
  const derivation = record.state === "settled" ? record.derivation : undefined;
  return [
    `${text.requestId}: ${record.id}`,
    `${text.time}: ${formatTime(record.time, language)}`,
    `${text.dimensions.model}: ${record.model}`,
    `${text.images}: ${record.images}`,
    `${text.charge}: ${record.charge ?? "–"}`,
    derivation === undefined
      ? explainCharge(record, messages)
      : writeDerivation(derivation, record.charge ?? derivation.exact, messages),
  ].join("\n");
}

const isZero = (charge: string): boolean => !/[1-9]/.test(charge);
