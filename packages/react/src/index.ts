export type { ImagesState } from "./images-call.js";
export type { ImagesStorage } from "./stored-call.js";
export { type UseImages, type UseImagesOptions, useImages } from "./use-images.js";
