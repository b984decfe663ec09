import { isJsonObject, type JsonObject } from "../json.js";
import type { PixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import type { LoadedReference } from "../references/decode-image.js";
import type { Services } from "../services.js";
import { dashscopeRefusal, invalidParameter } from "./errors.js";
import { type DashscopeModel, findDashscopeModel } from "./models.js";
import { checkReferenceCount, readReferences } from "./references.js";
import { chooseSize, readSize } from "./size.js";

/** A request that was checked, with the defaults of all fields. */
export interface DashscopeRequest {
  readonly model: DashscopeModel;
  /** The model's name as it was sent. */
  readonly modelName: string;
  readonly prompt: string;
  readonly n: number;
  readonly size: PixelSize;
  readonly watermark: boolean;
  /** `undefined`: the model chooses one. */
  readonly seed: number | undefined;
  readonly references: readonly LoadedReference[];
}

/**
 * Checks a request and downloads its references. `null` counts as absent in all parameters.
 *
 * @param mode whether the request has the path of tasks, which needs the header of tasks.
 */
export async function readDashscopeRequest(
  call: ProviderCall,
  services: Services,
  mode: "synchronous" | "task" = "synchronous",
): Promise<DashscopeRequest> {
  const { body, request } = call;
  const isTask = request.headers.get("x-dashscope-async") === "enable";
  if (isTask !== (mode === "task")) {
    const kind = isTask ? "asynchronous" : "synchronous";
    throw dashscopeRefusal("AccessDenied", `current user api does not support ${kind} calls.`);
  }
  const { model: modelName } = body;
  if (typeof modelName !== "string" || modelName === "") throw dashscopeRefusal("InvalidParameter");
  const model = findDashscopeModel(modelName);
  if (model === undefined) throw dashscopeRefusal("ModelNotFound");
  if (isTask && model.runsAsTask !== true) {
    throw dashscopeRefusal("AccessDenied", "current user api does not support asynchronous calls.");
  }

  const { text, images } = readMessage(body.input);
  checkReferenceCount(images.length, model);
  const parameters = body.parameters ?? {};
  if (!isJsonObject(parameters)) throw invalidParameter("The parameters should be an object");
  checkPromptParameters(parameters, model, images.length);
  const prompt = truncate(text, model.promptLimit);
  const n = readCount(parameters, model);
  const watermark = readBoolean(parameters, "watermark", false);
  const seed = readSeed(parameters.seed);
  const size = readSize(parameters.size, model.size, images.length);
  moderate(prompt);

  const references = await readReferences(images, { model, call, services });
  return {
    model,
    modelName,
    prompt,
    n,
    size: size ?? chooseSize(model.size, prompt, references.at(-1)),
    watermark,
    seed,
    references,
  };
}

interface Message {
  readonly text: string;
  /** Links and data URLs, in the order they were sent. */
  readonly images: readonly string[];
}

/** Reads the input: exactly one message of the user with exactly one text. */
function readMessage(input: unknown): Message {
  if (!isJsonObject(input)) throw dashscopeRefusal("BadRequest.EmptyInput");
  const { messages } = input;
  if (!Array.isArray(messages) || messages.length === 0) throw dashscopeRefusal("BadRequest.EmptyInput");
  const [message, ...others]: unknown[] = messages;
  if (others.length > 0) throw invalidParameter("The messages should contain exactly one message");
  if (!isJsonObject(message) || message.role !== "user") throw invalidParameter('The role should be "user"');
  if (!Array.isArray(message.content)) throw invalidParameter("The content should be a list");
  const items: unknown[] = message.content;
  return { text: readText(items), images: items.flatMap(readImage) };
}

function readText(items: readonly unknown[]): string {
  const texts = items.filter(isJsonObject).filter((item) => item.text !== undefined);
  const [only, ...others] = texts.map((item) => item.text);
  if (typeof only !== "string" || others.length > 0) {
    throw invalidParameter("The content should contain exactly one text");
  }
  if (only.trim() === "") throw dashscopeRefusal("BadRequest.EmptyInput");
  return only;
}

function readImage(item: unknown): string[] {
  if (!isJsonObject(item)) throw invalidParameter("The items of content should be objects");
  const { image, text } = item;
  if (image === undefined && text === undefined) {
    throw invalidParameter("The items of content should hold either text or image");
  }
  if (image === undefined) return [];
  if (typeof image !== "string") throw invalidParameter("The image should be a string");
  return [image];
}

/** DashScope reports no tokens. Here a token is a CJK character, or up to four other characters. */
const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Drops what exceeds the limit. DashScope does not report this. */
function truncate(prompt: string, limit: DashscopeModel["promptLimit"]): string {
  const characters = Array.from(prompt);
  if ("characters" in limit) return characters.slice(0, limit.characters).join("");
  let tokens = 0;
  const end = characters.findIndex((character) => {
    tokens += cjk.test(character) ? 1 : 1 / 4;
    return tokens > limit.tokens;
  });
  return end === -1 ? prompt : characters.slice(0, end).join("");
}

/** Checks the parameters that change or extend the prompt. They have no effect on the emulator's images. */
function checkPromptParameters(parameters: JsonObject, model: DashscopeModel, imageCount: number): void {
  const { negative_prompt: negativePrompt } = parameters;
  if (negativePrompt !== undefined && negativePrompt !== null && typeof negativePrompt !== "string") {
    throw invalidParameter("negative_prompt must be a string");
  }
  if (!model.hasPromptExtend) return;
  const extendsPrompt = readBoolean(parameters, "prompt_extend", true);
  if (!model.hasThinking) return;
  if (readBoolean(parameters, "enable_thinking", extendsPrompt) && !extendsPrompt) {
    throw invalidParameter("enable_thinking must be false if prompt_extend is false");
  }
  const mode = parameters.prompt_extend_mode ?? "direct";
  if (mode !== "direct" && mode !== "agent") {
    throw invalidParameter("prompt_extend_mode must be direct or agent");
  }
  if (mode === "agent" && imageCount > 0) {
    throw invalidParameter("prompt_extend_mode must be direct if the content contains images");
  }
}

function readCount({ n, enable_sequential: sequential }: JsonObject, model: DashscopeModel): number {
  const max = (sequential === true ? model.maxSequentialImages : undefined) ?? model.maxImages;
  if (n === undefined || n === null) return model.usualImages ?? 1;
  if (typeof n === "number" && Number.isInteger(n) && n >= 1 && n <= max) return n;
  const allowed = max === 1 ? "1" : `between 1 and ${max}`;
  throw invalidParameter(`num_images_per_prompt must be ${allowed}`);
}

const maxSeed = 2 ** 31 - 1;

function readSeed(seed: unknown): number | undefined {
  if (seed === undefined || seed === null) return undefined;
  if (typeof seed === "number" && Number.isInteger(seed) && seed >= 0 && seed <= maxSeed) return seed;
  throw invalidParameter(`seed must be an integer between 0 and ${maxSeed}`);
}

function readBoolean(parameters: JsonObject, name: string, fallback: boolean): boolean {
  const value = parameters[name] ?? fallback;
  if (typeof value !== "boolean") throw invalidParameter(`${name} must be a boolean`);
  return value;
}

/** A prompt that contains the moderation code is refused with it, so that tests need no offensive prompts. */
function moderate(prompt: string): void {
  if (prompt.includes("DataInspectionFailed")) {
    throw dashscopeRefusal("DataInspectionFailed", "Input data may contain inappropriate content.");
  }
}
