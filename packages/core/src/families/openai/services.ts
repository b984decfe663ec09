import { toBase64 } from "../../images/reference-image.js";
import { toSides } from "../fields/write-input.js";
import { createCodeTable } from "../shared.js";
import { OPENAI_CODES } from "./failure.js";
import type { Service } from "./service.js";

/*
 * Services with OpenAI's API, as data. The facts are of November 2026, from the services' own references and SDKs; each page
 * in docs/families names them. A fact that changes can be replaced by a family of your own: `{ ...openai, dialects }`.
 */

/** Fields of OpenAI's own models that no other service is known to have. */
export const OPENAI_ONLY = [
  "background",
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "input_fidelity",
  "moderation",
  "output_compression",
  "safety_identifier",
  "style",
  "svg",
] as const;

/** Together AI. Source: docs.together.ai and `together-ai` 0.52.0. */
export const TOGETHER: Service = {
  baseUrl: "https://api.together.xyz/v1",
  delivers: ["url", "b64_json"],
  responseFormats: { url: "url", b64_json: "base64" },
  size: toSides,
  references: (images) => (images.length === 1 ? { image_url: images[0] } : { reference_images: images }),
  drops: [...OPENAI_ONLY, "quality", "user"],
  response: { leftOut: ["index", "type"] },
  codes: createCodeTable(
    [{ kind: "content" }, "nsfw_content"],
    [{ kind: "quota" }, "credit_limit"],
    [{ kind: "model" }, "model_not_available"],
    [{ kind: "rate", scope: "model" }, "rate_limit"],
    [{ kind: "overload" }, "overloaded", "overloaded_error"],
  ),
};

/** The fields of SiliconFlow for one to three images. */
const SILICONFLOW_IMAGES = ["image", "image2", "image3"] as const;

/** SiliconFlow. Source: docs.siliconflow.cn. */
export const SILICONFLOW: Service = {
  baseUrl: "https://api.siliconflow.cn/v1",
  delivers: ["url"],
  size: "image_size",
  count: "batch_size",
  references: (images) =>
    Object.fromEntries(images.map((image, index) => [SILICONFLOW_IMAGES[index] ?? "image", image])),
  maxReferences: SILICONFLOW_IMAGES.length,
  drops: [...OPENAI_ONLY, "output_format", "quality", "user"],
  response: { items: "images" },
  isRelayed: false,
  requestIdHeader: "x-siliconcloud-trace-id",
  codes: createCodeTable(
    [{ kind: "content" }, "20021"],
    [{ kind: "model" }, "20012"],
    [{ kind: "credential" }, "20001"],
    [{ kind: "quota" }, "30001"],
    [{ kind: "rate" }, "50602"],
    [{ kind: "overload" }, "50603"],
  ),
};

/** Zhipu. Source: docs.bigmodel.cn. */
export const ZHIPU: Service = {
  baseUrl: "https://open.bigmodel.cn/api/paas/v4",
  delivers: ["url"],
  count: "none",
  references: "none",
  drops: [...OPENAI_ONLY, "output_format", "user"],
  codes: createCodeTable(
    [{ kind: "content" }, "1301"],
    [{ kind: "model" }, "1211"],
    [{ kind: "credential" }, "1000"],
    [{ kind: "credential", scope: "model" }, "1220"],
    [{ kind: "quota" }, "1113"],
    [{ kind: "rate" }, "1302", "1303"],
    [{ kind: "rate", scope: "model" }, "1305"],
    [{ kind: "server" }, "500"],
  ),
};

/** How far an edit of Recraft moves from its image if the client does not say so: Recraft has no default, Comfy's is this. */
const RECRAFT_STRENGTH = 0.5;

/**
 * Recraft. Source: recraft.ai/docs (agents, image to image, pricing). Masks have another meaning there, so they are not sent.
 * `credits` are thousandths of a dollar.
 */
export const RECRAFT: Service = {
  baseUrl: "https://external.api.recraft.ai/v1",
  delivers: ["url", "b64_json"],
  responseFormats: { url: "url", b64_json: "b64_json" },
  renames: { seed: "random_seed" },
  references: ([image], { strength = RECRAFT_STRENGTH }) => ({ image_url: image, strength }),
  maxReferences: 1,
  referencesPath: "/images/imageToImage",
  drops: [...OPENAI_ONLY.filter((field) => field !== "style"), "output_format", "quality", "user"],
  cost: { name: "credits", places: 3 },
  response: { leftOut: ["image_id", "features"] },
  codes: createCodeTable(),
};

/**
 * Ideogram 4.5. Sources: ideogram.ai (API pricing) and the SDKs that are written from its OpenAPI document. Black is the part
 * of a mask that changes, so OpenAI's masks are not sent. Second-hand: that the response states its cost.
 */
export const IDEOGRAM: Service = {
  baseUrl: "https://api.ideogram.ai/v2",
  authorize: (apiKey) => ({ "api-key": apiKey }),
  path: (model) => `/image/generate/${encodeURIComponent(model)}`,
  delivers: ["url"],
  count: "num_images",
  references: "form",
  files: "images",
  drops: [...OPENAI_ONLY, "output_format", "user"],
  safe: "is_image_safe",
  cost: { name: "usage_cost_usd_micros", places: 6 },
  response: { leftOut: ["is_image_safe", "object_type", "prompt"] },
  codes: createCodeTable(
    [{ kind: "quota" }, "insufficient_funds"],
    [{ kind: "content" }, "content_policy_violation"],
  ),
};

/**
 * Hunyuan Image 3.0 on Tencent TokenHub. Sources: cloud.tencent.com (document 1823) and clients of it on GitHub. The other
 * models of TokenHub have interfaces of their own.
 */
export const TOKENHUB: Service = {
  baseUrl: "https://tokenhub.tencentmaas.com/v1",
  path: "/wand/hunyuan-image/v3-generation",
  delivers: ["url"],
  count: "none",
  references: (images) => ({ images }),
  maxReferences: 3,
  drops: [...OPENAI_ONLY, "output_format", "quality", "user"],
  codes: createCodeTable([{ kind: "content" }, "content_filter"]),
};

/** What the servers of one's own machines need: no address, and `/v1` as the usual path. */
const OWN_SERVER = { defaultPath: "/v1", codes: OPENAI_CODES };

/** vLLM-Omni, and SGLang Diffusion with the same API. Source: docs.vllm.ai, docs.sglang.io. */
export const VLLM: Service = {
  ...OWN_SERVER,
  delivers: ["b64_json"],
  references: "form",
  drops: [...OPENAI_ONLY, "output_format", "quality", "user"],
  // Of what it does not say it sends `null`.
  response: { leftOut: [] },
};

/**
 * LocalAI. Source: `endpoints/openai/image.go`, August 2026. Its links lead to the server itself, which clients can rarely
 * reach, so base64 is its own format here.
 */
export const LOCALAI: Service = {
  ...OWN_SERVER,
  delivers: ["b64_json", "url"],
  responseFormats: { url: "url", b64_json: "b64_json" },
  references: (images) => ({ ref_images: images.map(toBase64) }),
  opensLinks: false,
  maskPath: "/images/inpainting",
  drops: [...OPENAI_ONLY, "output_format", "quality", "user"],
  response: { leftOut: ["embedding", "index"] },
};
