import { isJsonObject } from "../json.js";
import { dashscopeRefusal, invalidParameter } from "./refusals.js";

/** What the one message holds. */
export interface MessageContent {
  readonly prompt: string;
  /** Links and data URLs, in the order they were sent. */
  readonly images: readonly string[];
}

const maxPromptCharacters = 800;

/** Exactly one message of the user with exactly one text. A longer prompt is cut without a word, as the model does. */
export function readMessageContent(input: unknown): MessageContent {
  if (!isJsonObject(input)) throw dashscopeRefusal("BadRequest.EmptyInput");
  const { messages } = input;
  if (!Array.isArray(messages) || messages.length === 0) throw dashscopeRefusal("BadRequest.EmptyInput");
  const [message, ...others]: unknown[] = messages;
  if (others.length > 0) throw invalidParameter("The messages should contain exactly one message");
  if (!isJsonObject(message) || message.role !== "user") throw invalidParameter('The role should be "user"');
  if (!Array.isArray(message.content)) throw invalidParameter("The content should be a list");
  const items: unknown[] = message.content;
  return { prompt: readText(items), images: items.flatMap(readImage) };
}

function readText(items: readonly unknown[]): string {
  const texts = items.filter((item) => isJsonObject(item)).filter((item) => item.text !== undefined);
  const [only, ...others] = texts.map((item) => item.text);
  if (typeof only !== "string" || others.length > 0) {
    throw invalidParameter("The content should contain exactly one text");
  }
  if (only.trim() === "") throw dashscopeRefusal("BadRequest.EmptyInput");
  return Array.from(only).slice(0, maxPromptCharacters).join("");
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
