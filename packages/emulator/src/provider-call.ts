import type { Fault } from "./faults/fault.js";
import type { FormFile } from "./http/read-form.js";
import type { JsonObject } from "./json.js";

/** A request with an accepted key and a body of the right kind. */
export interface ProviderCall {
  readonly requestId: string;
  /** The origin of result links. */
  readonly origin: string;
  /**
   * For its headers and its `signal`, which is aborted when the client disconnects. Keep the request, not only the
   * signal: a request that was garbage collected no longer aborts its signal.
   */
  readonly request: Request;
  /** The JSON object, or the texts of the form. Empty if the operation has no body. */
  readonly body: JsonObject;
  /** The files of the form, in the order they were sent. `undefined` if the body is not a form. */
  readonly files: readonly FormFile[] | undefined;
  /** The named groups of the operation's path, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly fault: Fault;
}
