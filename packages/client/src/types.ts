import type { components, operations } from "./openapi-types.js";

type Schemas = components["schemas"];

/** An image: a link (`url`, which expires) or base64 (`b64_json`), and what is known of it. */
export type Image = Schemas["Image"];

/** An image that could not be made or converted: its `index` in the batch from 0, a `code` and a `message`. */
export type ImageFailure = Schemas["ItemError"];

/** What the provider reported: images and tokens. A field that it did not report is absent. */
export type Usage = Schemas["Usage"];

/** A model that the caller may use, with its capabilities. */
export type Model = Schemas["Model"];

/** A task: `queued`, `in_progress`, `completed`, `failed` or `cancelled`. All times are in seconds since 1970. */
export type Task = Schemas["Task"];

/** A page of the caller's tasks, the newest first, without `images` and `result`. */
export type TaskPage = Schemas["TaskList"];

/** What a request would be charged at most, and what it would make. */
export type Estimate = Schemas["Estimate"];

/** The fields of a request for new images. They depend on the family of the model. `stream` is set by the method that you call. */
export type GenerateRequest = operations["createImage"]["requestBody"]["content"]["application/json"];

/** An image to edit: a file (`File` or `Blob`) that is uploaded, a public link, or a data URL. */
export type ImageInput = Blob | string;

type EditFields = Pick<
  Schemas["SeedreamEditRequest"],
  | "model"
  | "prompt"
  | "n"
  | "size"
  | "response_format"
  | "output_format"
  | "background"
  | "watermark"
  | "seed"
>;

/** The fields of an edit. Other fields of the model's family may be added. */
export interface EditRequest extends EditFields {
  /** The reference images. Their order may matter to the model. */
  readonly images: ImageInput | readonly ImageInput[];
  /** The area to change, if the model takes one. */
  readonly mask?: ImageInput | null;
  readonly [field: string]: unknown;
}

/** The images of a request. */
export type ImagesResult = Schemas["ImagesResponse"] & {
  /** The gateway's id of the request, which is the id of its usage record. Absent if a page may not read it. */
  readonly requestId?: string;
  /** The exact charge, a decimal. Only if the operator shows it, and not of large responses and of tasks. */
  readonly charge?: string;
};

/** What happens in a stream of images. */
export type ImageEvent =
  /** The gateway has accepted the request. */
  | { readonly type: "started"; readonly requestId?: string }
  /** An unfinished image, if `partial_images` asked for it and the model sends such images. */
  | { readonly type: "preview"; readonly image: Image }
  /** An image is ready. `index` counts the images of this stream from 0. */
  | { readonly type: "image"; readonly index: number; readonly image: Image }
  /** An image of the batch failed. The others continue. */
  | { readonly type: "failed"; readonly failure: ImageFailure }
  /** The last event: how many images came, and what the provider reported. */
  | { readonly type: "done"; readonly images: number; readonly usage?: Usage };

/** What happens to a task. */
export type TaskEvent =
  /** The task as it is at first, and with each new status. The last one has `result` or `error`. */
  | { readonly type: "status"; readonly task: Task }
  /** An image with a link has arrived. `index` is its number in the order of arrival, from 0. */
  | { readonly type: "image"; readonly index: number; readonly image: Image };
