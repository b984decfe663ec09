/** The usage in OpenAI's events of all images but the last, and if nothing is reported. */
export const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
};

/** What OpenAI's event of an image has if nothing is known of the image. */
export const NOT_STATED = { size: "auto", quality: "auto", background: "auto", usage: NO_USAGE };
