import { useEffect, useState } from "preact/hooks";
import type { EstimateQuery, RequestEstimate } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { toApiError } from "../use-data.js";

/** What the gateway says about the request of the composer, before it is sent. */
export interface Estimate {
  readonly estimate?: RequestEstimate;
  readonly error?: ApiError;
}

const WAIT_MS = 200;

/** Asks the gateway when the person has stopped writing for a moment. The old answer stays until then. */
export function useEstimate(query: EstimateQuery | undefined, key: string | undefined): Estimate {
  const [state, setState] = useState<Estimate>({});
  const asked = query === undefined ? undefined : JSON.stringify(query);
  useEffect(() => {
    if (asked === undefined) {
      setState({});
      return undefined;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const body: unknown = JSON.parse(asked);
      call<RequestEstimate>("estimate", { method: "POST", body, key, signal: abort.signal }).then(
        (estimate) => setState({ estimate }),
        (cause: unknown) => {
          if (!abort.signal.aborted) setState({ error: toApiError(cause) });
        },
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asked, key]);
  return state;
}
