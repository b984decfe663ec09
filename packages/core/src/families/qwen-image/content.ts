import type { ReferenceImage } from "../../images/reference-image.js";
import type { ResponseFormat } from "../../types.js";
import type { MessagesFields, QwenImageParameters } from "./request-schema.js";

/** What both ways of writing a family B request come to, before the model's limits are checked. */
export interface QwenImageContent {
  readonly text: string;
  /** Reference images in order, with the field that each came from. */
  readonly images: readonly { readonly value: ReferenceImage; readonly param: string }[];
  /** The client's `input`, when it sent one: its unknown fields are forwarded. */
  readonly input?: MessagesFields["input"];
  readonly parameters: QwenImageParameters;
  /** The field that a parameter came from, for messages. */
  readonly paramOf: (name: "n" | "size") => string;
  readonly responseFormat: ResponseFormat | undefined;
  readonly stream: boolean;
  readonly ignored: readonly string[];
}
