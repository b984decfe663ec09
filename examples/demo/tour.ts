import type { ImageGenerateParamsBase } from "openai/resources/images";

interface StepBase {
  readonly title: string;
  /** The file name of the image, without number and extension. */
  readonly file: string;
}

/** One call of the tour. */
export type Step = StepBase &
  (
    | { readonly kind: "generate"; readonly request: ImageGenerateParamsBase }
    | { readonly kind: "stream"; readonly request: ImageGenerateParamsBase }
    | {
        readonly kind: "edit";
        readonly request: { readonly model: string; readonly prompt: string; readonly size: string };
        /** The name of the step whose image is uploaded. */
        readonly image: string;
      }
  );

export const tour: readonly Step[] = [
  {
    kind: "generate",
    title: "Text to image",
    file: "camera",
    request: {
      model: "seedream-4-5-251128",
      prompt: "An old brass camera on a desk by the window, morning light",
    },
  },
  {
    kind: "generate",
    title: "A batch of four",
    file: "seasons",
    request: {
      model: "seedream-4-5-251128",
      prompt: "Four pictures of the same oak tree: spring, summer, autumn, winter",
      n: 4,
      size: "2048x2048",
    },
  },
  {
    kind: "generate",
    title: "A wide preset",
    file: "coast",
    request: { model: "seedream-5-0-lite-260128", prompt: "A rocky coast in the fog, 16:9", size: "2K" },
  },
  {
    kind: "generate",
    title: "A tall size",
    file: "tower",
    request: { model: "seedream-4-0-250828", prompt: "A lighthouse seen from its foot", size: "1024x1536" },
  },
  {
    kind: "generate",
    title: "Three images of a model that makes one per call",
    file: "harbour",
    request: {
      model: "seedream-5-0-pro-260628",
      prompt: "A harbour at dawn, at noon and at night",
      n: 3,
      size: "1600x1200",
    },
  },
  {
    kind: "generate",
    title: "A transparent background",
    file: "feather",
    request: {
      model: "seedream-5-0-flash-260915",
      prompt: "A feather",
      size: "1024x1024",
      background: "transparent",
      output_format: "png",
    },
  },
  {
    kind: "generate",
    title: "As base64",
    file: "teapot",
    request: {
      model: "seedream-4-0-250828",
      prompt: "A blue teapot, watercolour",
      size: "1024x1024",
      response_format: "b64_json",
    },
  },
  {
    kind: "stream",
    title: "A stream of four",
    file: "moon",
    request: {
      model: "seedream-4-5-251128",
      prompt: "Four phases of the moon over a lake",
      n: 4,
      size: "2K",
    },
  },
  {
    kind: "edit",
    title: "An edit of an uploaded image",
    file: "camera-evening",
    request: {
      model: "seedream-4-5-251128",
      prompt: "The same camera in the evening, lamp light",
      size: "2K",
    },
    image: "camera",
  },
  {
    kind: "generate",
    title: "Qwen-Image, Chinese text",
    file: "poster",
    request: {
      model: "image-2.0-pro",
      prompt: "一张茶馆的海报，上面写着“春风十里，不如一杯清茶”",
      size: "1328x1328",
    },
  },
];
