import { createGateway, type SettledRecord } from "@calotype/core";
import { type ModelDetails, repriceRecords } from "@calotype/core/billing";
import { gemini } from "@calotype/core/families/gemini";
import { openai } from "@calotype/core/families/openai";
import { drawPricedCall, type PricedCall } from "../grammar/priced-calls.ts";
import type { Finding, Part, PartContext } from "../part.ts";
import { createSimulatedProvider } from "../simulated-provider.ts";

/** What would have been charged, against what a gateway with those prices charges. */
export const repricing: Part<PricedCall> = {
  name: "repricing",
  guarantees:
    "Sends the same request to two gateways with different prices, whose provider gives both the same response: all " +
    "pricing modes, all built-in families and those of OpenAI and Gemini, JSON, streams, edits, several upstream calls, " +
    "references, layers, qualities, missing, false and far too high reports, failures and connections that break. " +
    "`repriceRecords` computes from the record of the first what the second has charged, or marks it as estimated; from a " +
    "record of an older version, too. With its own prices a record keeps its charge. No input token is charged that the " +
    "provider did not report. A pair is one request with its response and two prices.",
  isParallel: true,
  async run(context) {
    while (!context.isOver()) await tryCall(drawPricedCall(context.random), context);
  },
  replay: tryCall,
};

type Context = Pick<PartContext<PricedCall>, "begin" | "count" | "report">;

/** Compares one pair. */
export async function tryCall(call: PricedCall, context: Context): Promise<void> {
  context.begin(call);
  const [first, second] = [await charge(call, call.before), await charge(call, call.after)];
  // A request that reached no provider has no record.
  if (first === undefined || second === undefined) return;
  context.count("pairs");
  for (const finding of await compare(call, first, second, context)) await context.report(finding);
}

async function compare(
  call: PricedCall,
  first: SettledRecord,
  second: SettledRecord,
  { count }: Context,
): Promise<readonly Finding<PricedCall>[]> {
  const { priceBasis: _priceBasis, ...older } = first;
  const group_ratio = { default: call.ratio };
  const findings: Finding<PricedCall>[] = [];
  const check = async (record: SettledRecord, wanted: SettledRecord, rule: string): Promise<number> => {
    const details = wanted === first ? call.before : call.after;
    const sums = await repriceRecords([record], { model_details: { [call.model]: details }, group_ratio });
    if (sums.estimated === 0 && sums.newCharge !== wanted.charge) {
      findings.push({ rule, input: call, seen: JSON.stringify({ sums, record, wanted }) });
    }
    return sums.estimated;
  };
  const estimated = await check(first, second, "a new charge is what the gateway charges");
  count("estimated", estimated);
  await check(older, second, "a new charge of an older record is what the gateway charges");
  await check(first, first, "with its own prices a record keeps its charge");
  await check(older, first, "with its own prices an older record keeps its charge");
  for (const record of [first, second]) {
    if (countChargedInput(record) <= countReportedInput(record)) continue;
    const rule = "no input token is charged that was not reported";
    findings.push({ rule, input: call, seen: JSON.stringify(record) });
  }
  return findings;
}

function countChargedInput({ derivation }: SettledRecord): number {
  if (derivation?.pricing_mode !== "per-token") return 0;
  if (!("lines" in derivation)) return derivation.token_source === "request" ? 0 : derivation.other_tokens;
  return derivation.lines
    .filter((line) => line.what.includes("input") && "count" in line && line.source !== "request")
    .reduce((sum, line) => sum + ("count" in line ? line.count : 0), 0);
}

function countReportedInput({ usage, reportedUsage = usage }: SettledRecord): number {
  const { output_tokens, total_tokens, ...kinds } = reportedUsage ?? {};
  const { input_text_tokens = 0, input_image_tokens = 0, cached_input_tokens = 0 } = kinds;
  const known = input_text_tokens + input_image_tokens + cached_input_tokens;
  return Math.max(known, (total_tokens ?? 0) - (output_tokens ?? total_tokens ?? 0));
}

/** Sends the request to a gateway with this price. Returns its record. */
async function charge(call: PricedCall, details: ModelDetails): Promise<SettledRecord | undefined> {
  const records: SettledRecord[] = [];
  let calls = 0;
  const { transport } = createSimulatedProvider(() => {
    const { status, isStream, text, isCut } = call.replies[calls++ % call.replies.length] ?? NO_REPLY;
    return {
      status,
      headers: { "content-type": isStream ? "text/event-stream" : "application/json" },
      chunks: [Buffer.from(text)],
      ...(isCut && { failure: new Error("The connection broke.") }),
    };
  });
  const gateway = createGateway(
    {
      families: [openai, gemini],
      models: { [call.model]: { family: call.family } },
      channels: [{ id: "one", family: call.family, apiKey: "channel-canary-2b7d" }],
      callers: [{ id: "tester", key: KEY }],
      logger: { warn: quiet, error: quiet },
      billing: {
        model_details: { [call.model]: details },
        group_ratio: { default: call.ratio },
        onLost: call.onLost,
      },
      onUsage: (record) => void (record.state === "settled" && records.push(record)),
    },
    { transport },
  );
  const response = await gateway.fetch(
    new Request(`http://gateway.example${call.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify(call.body),
    }),
  );
  // A stream whose provider breaks off rejects.
  await response.text().catch(() => "");
  await gateway.close({ deadlineSeconds: 5 });
  return records[0];
}

const NO_REPLY = { status: 500, isStream: false, text: "", isCut: false };
const KEY = "caller-canary-51c7e0aa";
const quiet = (): void => {};
