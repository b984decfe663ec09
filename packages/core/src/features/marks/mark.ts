/** What is written into the images of one request. */
export interface Mark {
  /** Whether the XMP gets IPTC's `DigitalSourceType`. */
  readonly hasSourceType: boolean;
  /** China's `AIGC` value: JSON in ASCII. `undefined`: it is not written. */
  readonly aigc: string | undefined;
}

/** The mark of China in Exif is JSON with this member. A prompt may be there too, and name AIGC without its quotes. */
export const AIGC_MEMBER = '"AIGC"';

/** IPTC's value for an image that a trained model made. */
export const SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia";

/**
 * Writes the value `AIGC` of GB 45438-2025, appendix E. The gateway is the producer; a platform that shows the image may add
 * itself as the propagator.
 *
 * @param producer the name or the code of the service that makes the images
 * @param id the id of the request
 */
export function writeAigc(producer: string, id: string): string {
  const value = {
    Label: "1",
    ContentProducer: producer,
    ProduceID: id,
    ReservedCode1: "",
    ContentPropagator: "",
    PropagateID: "",
    ReservedCode2: "",
  };
  // In ASCII, because a text chunk of PNG has not the letters of all languages. Some readers of XMP do not resolve `&amp;`.
  return JSON.stringify(value).replaceAll(
    /[&<>\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
