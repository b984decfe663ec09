/** Which marks the images of responses get. */
export interface MarksOptions {
  /**
   * Who makes the images: `ContentProducer` of China's value, such as a company's name or its code. At most 256 characters. Needed
   * with `china`.
   */
  readonly producer?: string | undefined;
  /**
   * Whether images get IPTC's `DigitalSourceType` = `trainedAlgorithmicMedia`, which the EU's AI Act, article 50(2), can be met with.
   * Default true.
   */
  readonly eu?: boolean | undefined;
  /** Whether images get the value `AIGC` of China's GB 45438-2025, with the id of the request as `ProduceID`. Default false. */
  readonly china?: boolean | undefined;
  /**
   * Whether an image without a mark is withheld. Requests whose images could not be marked are refused before anything is charged;
   * an image that turns out later to be such a one is charged, and is not delivered. Default false: it is delivered, and the usage
   * record says why it has no mark.
   */
  readonly require?: boolean | undefined;
}
