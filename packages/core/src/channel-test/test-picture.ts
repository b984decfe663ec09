/** A white PNG of 384 x 384 pixels, which every provider takes as a reference image. */
export const TEST_PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAYAAAAGAAQAAAACMvIgSAAAAUklEQVR42u3LMQ0AAAwDoPo33WrYuQR+" +
  "0qMIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiD8DgPBfLwqh5C9KwAAAABJRU5E" +
  "rkJggg==";
