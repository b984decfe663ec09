import type { Dialect, Family } from "@calotype/core/families";
import { qwenImage, seedream } from "@calotype/core/families";
import { bfl } from "@calotype/core/families/bfl";
import { fal } from "@calotype/core/families/fal";
import { gemini } from "@calotype/core/families/gemini";
import { openai } from "@calotype/core/families/openai";
import { replicate } from "@calotype/core/families/replicate";
import type { Fault, ProviderName } from "@calotype/emulator";

/** What a provider's error means. */
export type ErrorKind = "content" | "key" | "model" | "rate" | "quota" | "overload" | "server" | "connection";

/** A family with one of its models, or one of its dialects, and the API of the emulator that plays the provider. */
export interface FamilyService {
  /** The name in tables. */
  readonly name: string;
  /** Its page, from `docs/families`. */
  readonly page: string;
  readonly family: Family;
  readonly dialect?: string;
  readonly provider: ProviderName;
  /** The service model, which is also the name at the provider. */
  readonly model: string;
  /** True if edits need `edits: true` in the options of the model. */
  readonly needsEdits?: boolean;
  /** The fault of the emulator for each kind of error that the provider has. */
  readonly errors: Readonly<Partial<Record<ErrorKind, Fault>>>;
}

/** A family or a dialect with polls that follow each other quickly, so that the tests do not wait. */
function pollQuickly<Part extends Partial<Dialect>>(part: Part): Part {
  const { jobs } = part;
  if (jobs === undefined) throw new Error("Its provider has no jobs.");
  return { ...part, jobs: { ...jobs, pollSeconds: 0.01 } };
}

const quickOpenai: Family = {
  ...openai,
  dialects: { ...openai.dialects, relay: pollQuickly(openai.dialects?.["relay"] ?? {}) },
};

/** What every provider can do: end the connection after it got the request. */
const CONNECTION = { connection: { hangUp: true } } as const;

const ARK: FamilyService["errors"] = {
  content: { code: "InputTextSensitiveContentDetected" },
  key: { code: "AuthenticationError" },
  model: { code: "ModelNotOpen" },
  rate: { code: "ModelAccountIpmRateLimitExceeded" },
  quota: { code: "QuotaExceeded" },
  overload: { code: "ServerOverloaded" },
  server: { code: "InternalServiceError" },
  ...CONNECTION,
};

const DASHSCOPE: FamilyService["errors"] = {
  content: { code: "DataInspectionFailed" },
  key: { code: "InvalidApiKey" },
  model: { code: "ModelNotFound" },
  rate: { code: "Throttling.RateQuota" },
  quota: { code: "PrepaidBillOverdue" },
  overload: { code: "ModelUnavailable" },
  server: { code: "InternalError" },
  ...CONNECTION,
};

const OPENAI: FamilyService["errors"] = {
  content: { code: "moderation_blocked" },
  key: { code: "invalid_api_key" },
  model: { code: "model_not_found" },
  rate: { code: "rate_limit_exceeded" },
  quota: { code: "insufficient_quota" },
  overload: { code: "server_is_overloaded" },
  server: { code: "server_error" },
  ...CONNECTION,
};

const GEMINI: FamilyService["errors"] = {
  content: { finishReason: "IMAGE_SAFETY" },
  key: { code: "API_KEY_INVALID" },
  model: { code: "NOT_FOUND" },
  rate: { code: "RESOURCE_EXHAUSTED" },
  quota: { code: "RESOURCE_EXHAUSTED_PER_DAY" },
  overload: { code: "UNAVAILABLE" },
  server: { code: "INTERNAL" },
  ...CONNECTION,
};

/** Every family and dialect, and where models of a family differ in what the gateway does, one of each kind. */
export const SERVICES: readonly FamilyService[] = [
  {
    name: "Seedream 4.5",
    page: "seedream.md",
    family: seedream,
    provider: "ark",
    model: "doubao-seedream-4-5-251128",
    errors: ARK,
  },
  {
    name: "Seedream 5.0 Pro",
    page: "seedream.md",
    family: seedream,
    provider: "ark",
    model: "doubao-seedream-5-0-pro-260628",
    errors: ARK,
  },
  {
    name: "Qwen-Image 2.0",
    page: "qwen-image.md",
    family: qwenImage,
    provider: "dashscope",
    model: "qwen-image-2.0",
    needsEdits: true,
    errors: DASHSCOPE,
  },
  {
    name: "Wan 2.7",
    page: "qwen-image.md#wan-27",
    family: qwenImage,
    provider: "dashscope",
    model: "wan2.7-image",
    needsEdits: true,
    errors: DASHSCOPE,
  },
  {
    name: "Gemini",
    page: "gemini.md",
    family: gemini,
    provider: "gemini",
    model: "gemini-nano-banana-2.1",
    errors: GEMINI,
  },
  {
    name: "`vertex`",
    page: "gemini.md#vertex-ai",
    family: gemini,
    dialect: "vertex",
    provider: "vertex",
    model: "gemini-3-pro-image",
    errors: { ...GEMINI, key: { code: "UNAUTHENTICATED" } },
  },
  {
    name: "OpenAI",
    page: "openai.md",
    family: openai,
    provider: "openai",
    model: "gpt-image-2",
    errors: OPENAI,
  },
  {
    name: "`azure`",
    page: "openai/azure.md",
    family: openai,
    dialect: "azure",
    provider: "azure",
    model: "gpt-image-2",
    errors: {
      ...OPENAI,
      content: { code: "contentFilter" },
      key: { code: "401" },
      model: { code: "DeploymentNotFound" },
      rate: { code: "RateLimitReached" },
    },
  },
  {
    name: "`xai`",
    page: "openai/xai.md",
    family: openai,
    dialect: "xai",
    provider: "xai",
    model: "grok-imagine-image",
    errors: {
      content: { code: "content_moderated" },
      key: { code: "unauthenticated" },
      model: { code: "not_found" },
      rate: { code: "rate_limited" },
      quota: { code: "resource_exhausted" },
      overload: { code: "unavailable" },
      server: { code: "internal" },
      ...CONNECTION,
    },
  },
  {
    name: "`openrouter`",
    page: "openai/openrouter.md",
    family: openai,
    dialect: "openrouter",
    provider: "openrouter",
    model: "google/gemini-nano-banana-2.1",
    errors: {
      content: { code: "moderation" },
      key: { code: "unauthorized" },
      model: { code: "no_endpoints" },
      rate: { code: "rate_limited" },
      quota: { code: "insufficient_credits" },
      overload: { code: "provider_overloaded" },
      server: { code: "internal_server_error" },
      ...CONNECTION,
    },
  },
  {
    name: "`together`",
    page: "openai/together.md",
    family: openai,
    dialect: "together",
    provider: "together",
    model: "black-forest-labs/FLUX.2-dev",
    errors: {
      content: { code: "nsfw_content" },
      key: { code: "invalid_api_key" },
      model: { code: "model_not_available" },
      rate: { code: "rate_limit" },
      quota: { code: "credit_limit" },
      overload: { code: "overloaded" },
      server: { code: "server_error" },
      ...CONNECTION,
    },
  },
  {
    name: "`siliconflow`",
    page: "openai/siliconflow.md",
    family: openai,
    dialect: "siliconflow",
    provider: "siliconflow",
    model: "Kwai-Kolors/Kolors",
    errors: {
      content: { code: "20021" },
      key: { code: "20001" },
      model: { code: "20012" },
      rate: { code: "50602" },
      quota: { code: "30001" },
      overload: { code: "50603" },
      server: { code: "50501" },
      ...CONNECTION,
    },
  },
  {
    name: "`zhipu`",
    page: "openai/zhipu.md",
    family: openai,
    dialect: "zhipu",
    provider: "zhipu",
    model: "cogview-4",
    errors: {
      content: { code: "1301" },
      key: { code: "1000" },
      model: { code: "1211" },
      rate: { code: "1303" },
      quota: { code: "1113" },
      overload: { code: "1305" },
      server: { code: "500" },
      ...CONNECTION,
    },
  },
  {
    name: "`vllm`",
    page: "openai/vllm.md",
    family: openai,
    dialect: "vllm",
    provider: "vllm",
    model: "Qwen/Qwen-Image",
    errors: {
      content: { code: "invalid" },
      key: { code: "unauthorized_request" },
      model: { code: "wrong_model" },
      rate: { status: 429 },
      overload: { code: "loading" },
      server: { code: "failed" },
      ...CONNECTION,
    },
  },
  {
    name: "`localai`",
    page: "openai/localai.md",
    family: openai,
    dialect: "localai",
    provider: "localai",
    model: "flux",
    errors: {
      content: { code: "invalid_image_request" },
      key: { code: "unauthorized_key" },
      model: { code: "backend_not_found" },
      rate: { status: 429 },
      overload: { status: 503 },
      server: { code: "backend_failed" },
      ...CONNECTION,
    },
  },
  {
    name: "`relay`",
    page: "openai/relay.md",
    family: quickOpenai,
    dialect: "relay",
    provider: "relay",
    model: "gpt-image-2",
    errors: {
      content: { code: "content_policy_violation" },
      key: { code: "authentication_error" },
      model: { code: "model_not_found" },
      rate: { code: "rate_limit_error" },
      quota: { code: "payment_required" },
      overload: { code: "service_unavailable" },
      server: { code: "server_error" },
      ...CONNECTION,
    },
  },
  {
    name: "`minimax`",
    page: "openai/minimax.md",
    family: openai,
    dialect: "minimax",
    provider: "minimax",
    model: "MiniMax-H3-Image",
    errors: {
      content: { code: "sensitive" },
      key: { code: "login_fail" },
      model: { code: "unknown_model" },
      rate: { code: "rate_limit" },
      quota: { code: "insufficient_balance" },
      overload: { code: "overloaded" },
      server: { code: "internal_error" },
      ...CONNECTION,
    },
  },
  {
    name: "`recraft`",
    page: "openai/recraft.md",
    family: openai,
    dialect: "recraft",
    provider: "recraft",
    model: "recraftv4_1",
    errors: {
      content: { code: "content_policy" },
      key: { code: "unauthorized" },
      model: { code: "model_not_found" },
      rate: { code: "rate_limit" },
      quota: { code: "not_enough_credits" },
      overload: { code: "unavailable" },
      server: { code: "internal_error" },
      ...CONNECTION,
    },
  },
  {
    name: "`mai`",
    page: "openai/mai.md",
    family: openai,
    dialect: "mai",
    provider: "mai",
    model: "MAI-Image-2.7",
    errors: {
      ...OPENAI,
      content: { code: "content_policy_violation" },
      key: { code: "401" },
      model: { code: "DeploymentNotFound" },
      rate: { code: "RateLimitReached" },
    },
  },
  {
    name: "`ideogram`",
    page: "openai/ideogram.md",
    family: openai,
    dialect: "ideogram",
    provider: "ideogram",
    model: "ideogram-4-5",
    errors: {
      content: { code: "content_policy_violation" },
      key: { code: "unauthorized" },
      model: { code: "not_found" },
      rate: { code: "too_many_requests" },
      quota: { code: "insufficient_funds" },
      overload: { code: "unavailable" },
      server: { code: "internal_error" },
      ...CONNECTION,
    },
  },
  {
    name: "`tokenhub`",
    page: "openai/tokenhub.md",
    family: openai,
    dialect: "tokenhub",
    provider: "tokenhub",
    model: "hy-image-v3",
    errors: {
      content: { code: "content_filter" },
      key: { code: "unauthorized" },
      model: { code: "model_not_found" },
      rate: { code: "rate_limit" },
      quota: { code: "insufficient_balance" },
      overload: { code: "unavailable" },
      server: { code: "internal_error" },
      ...CONNECTION,
    },
  },
  {
    name: "FLUX",
    page: "bfl.md",
    family: pollQuickly(bfl),
    provider: "bfl",
    model: "flux-2-pro",
    errors: {
      content: { task: { end: "moderation" } },
      key: { code: "not_authenticated" },
      model: { code: "unknown_model" },
      rate: { code: "too_many_tasks" },
      quota: { code: "insufficient_credits" },
      overload: { code: "service_unavailable" },
      server: { code: "internal_error" },
      ...CONNECTION,
    },
  },
  {
    name: "fal",
    page: "fal.md",
    family: pollQuickly(fal),
    provider: "fal",
    model: "fal-ai/flux-2",
    errors: {
      content: { code: "content_policy_violation" },
      key: { code: "unauthenticated_user" },
      model: { code: "application_not_found" },
      rate: { code: "concurrent_requests_limit" },
      quota: { code: "exhausted_balance" },
      overload: { code: "runner_unavailable" },
      server: { code: "internal_server_error" },
      ...CONNECTION,
    },
  },
  {
    name: "Replicate",
    page: "replicate.md",
    family: pollQuickly(replicate),
    provider: "replicate",
    model: "black-forest-labs/flux-2-pro",
    errors: {
      content: { task: { end: "moderation" } },
      key: { code: "unauthenticated" },
      model: { code: "not_found" },
      rate: { code: "throttled" },
      quota: { code: "insufficient_credit" },
      overload: { code: "service_unavailable" },
      server: { code: "internal_error" },
      ...CONNECTION,
    },
  },
];
