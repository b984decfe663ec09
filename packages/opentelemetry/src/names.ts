import type { StartedAttempt } from "@calotype/core/adapter";

/** The name of the tracer and of the meter. */
export const SCOPE = "@calotype/opentelemetry";

/** The operation of every call, as the semantic conventions for generative AI name it. */
export const OPERATION = "generate_content";

/**
 * Names of attributes. Those that begin with `gen_ai.`, `error.`, `http.` and `server.` are from the semantic conventions of
 * OpenTelemetry; the others are our own.
 */
export const ATTRIBUTES = {
  operationName: "gen_ai.operation.name",
  outputType: "gen_ai.output.type",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  tokenType: "gen_ai.token.type",
  errorType: "error.type",
  statusCode: "http.response.status_code",
  serverAddress: "server.address",
  requestId: "calotype.request.id",
  endpoint: "calotype.endpoint",
  callKind: "calotype.call.kind",
  caller: "calotype.caller",
  modelEntry: "calotype.model.entry",
  task: "calotype.task",
  stream: "calotype.stream",
  errorCode: "calotype.error.code",
  images: "calotype.images",
  charge: "calotype.charge",
  cost: "calotype.cost",
  holdAmount: "calotype.hold.amount",
  holdState: "calotype.hold.state",
  channel: "calotype.channel",
  channelKey: "calotype.channel.key",
  channelState: "calotype.channel.state",
  upstreamModel: "calotype.upstream.model",
  upstreamCall: "calotype.upstream.call",
  upstreamCode: "calotype.upstream.code",
  upstreamRequestId: "calotype.upstream.request_id",
  upstreamTask: "calotype.upstream.task",
  probe: "calotype.probe",
  continued: "calotype.continued",
  polls: "calotype.polls",
  pollWait: "calotype.polls.wait",
  cooldownScope: "calotype.cooldown.scope",
  cooldownUntil: "calotype.cooldown.until",
  cooldownReason: "calotype.cooldown.reason",
  limit: "calotype.limit",
  clientLeft: "calotype.client.disconnected",
  inputMessages: "gen_ai.input.messages",
} as const;

/** The providers' names. A family or a dialect that is not listed has its own name. */
const PROVIDERS: Readonly<Record<string, string>> = {
  seedream: "volcengine",
  "qwen-image": "alibaba_cloud",
  gemini: "gcp.gemini",
  openai: "openai",
  azure: "azure.ai.openai",
  xai: "x_ai",
};

/** Returns the name of the provider of a channel. There are as many as families and dialects. */
export function providerOf({ family, dialect }: Pick<StartedAttempt, "family" | "dialect">): string {
  const name = dialect ?? family;
  return PROVIDERS[name] ?? name;
}
