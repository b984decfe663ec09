/** What is wrong with a stream as a sequence of events. Nothing of it concerns an answer in JSON. */
export interface StreamFault {
  /**
   * After so many events (`completed` and `[DONE]` are events, comments are none) the connection is cut. A
   * fraction cuts inside the next event: 1.5 in the middle of the second. A shorter stream arrives whole.
   */
  cutAfterEvents?: number;
  /** How often `completed` is sent, in place of once: 0 leaves it out, 2 sends it twice. Ark only. */
  completedEvents?: number;
  /** Lines end in CR LF, or in CR alone, in place of LF. */
  lineEnd?: "crlf" | "cr";
  /** A comment, `: keep-alive`, stands before every event. */
  comments?: true;
  /** A comment is sent whenever so many milliseconds passed without an event. */
  keepAliveMs?: number;
}
