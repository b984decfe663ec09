import type { ImageGenerateParamsNonStreaming } from "openai/resources/images";

/** One call of the tour. */
export interface Step {
  readonly title: string;
  /** The picture's file name, without number and ending. */
  readonly file: string;
  readonly request: ImageGenerateParamsNonStreaming;
}

export const tour: readonly Step[] = [
  {
    title: "Text to image",
    file: "camera",
    request: {
      model: "seedream-4-5-251128",
      prompt: "An old brass camera on a desk by the window, morning light",
    },
  },
  {
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
    title: "A wide preset",
    file: "coast",
    request: { model: "seedream-5-0-lite-260128", prompt: "A rocky coast in the fog, 16:9", size: "2K" },
  },
  {
    title: "A tall size",
    file: "tower",
    request: { model: "seedream-4-0-250828", prompt: "A lighthouse seen from its foot", size: "1024x1536" },
  },
  {
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
    title: "Qwen-Image, Chinese text",
    file: "poster",
    request: {
      model: "image-2.0-pro",
      prompt: "一张茶馆的海报，上面写着“春风十里，不如一杯清茶”",
      size: "1328x1328",
    },
  },
];
