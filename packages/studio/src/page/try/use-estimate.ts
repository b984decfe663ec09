import { useEffect, useState } from "preact/hooks";
import type { EstimateQuery, RequestEstimate } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { toApiError } from "../use-data.js";

/** What the gateway says about the request of the composer, before it is sent. */
export interface Estimate {
  readonly estimate?: RequestEstimate;
  readonly error?: ApiError;
  /** True while the gateway is asked again: the fields have changed since. */
  readonly isOld?: boolean;
}

const WAIT_MS = 200;

/** An answer, and what it is the answer to. */
interface Answer {
  readonly asked: string;
  readonly model: unknown;
  readonly key: string | undefined;
  readonly estimate: Estimate;
}

/**
 * Asks the gateway when the person has stopped writing for a moment. The old answer stays until then, and says that it is old.
 * That of another model or key is never shown.
 */
export function useEstimate(query: EstimateQuery | undefined, key: string | undefined): Estimate {
  const [answer, setAnswer] = useState<Answer>();
  const asked = query === undefined ? undefined : JSON.stringify(query);
  const model = query?.fields["model"];
  useEffect(() => {
    if (asked === undefined) return undefined;
    const abort = new AbortController();
    const take = (estimate: Estimate): void => setAnswer({ asked, model, key, estimate });
    const timer = setTimeout(() => {
      const body: unknown = JSON.parse(asked);
      call<RequestEstimate>("estimate", { method: "POST", body, key, signal: abort.signal }).then(
        (estimate) => take({ estimate }),
        (cause: unknown) => {
          if (!abort.signal.aborted) take({ error: toApiError(cause) });
        },
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asked, model, key]);
  if (answer === undefined || asked === undefined || answer.model !== model || answer.key !== key) return {};
  return answer.asked === asked ? answer.estimate : { ...answer.estimate, isOld: true };
}
