/** The models of these tests: one that streams, one that makes one image per call, and one whose images are links. */
export const MODELS = {
  streaming: "seedream-4-5-251128",
  single: "seedream-5-0-pro-260628",
  links: "image-2.0",
};
