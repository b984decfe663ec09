import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.js";

/** What a view has loaded. After a failed refresh the old data stay, with the failure beside them. */
export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly reload: () => void;
}

/**
 * Loads data when the key changes, and again after each interval while the page is visible. The signal of a load is aborted
 * when its data are no longer needed.
 */
export function useData<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everySeconds?: number,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError }>({ key });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    latest.current(signal).then(
      (data) => signal.aborted || setState({ key, data }),
      (cause: unknown) => {
        if (!signal.aborted)
          setState((old) => ({ ...(old.key === key ? old : { key }), error: toApiError(cause) }));
      },
    );
    return () => leaving.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  useEffect(() => {
    if (everySeconds === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everySeconds * 1000);
    return () => clearInterval(timer);
  }, [everySeconds, reload]);
  const isKnown = state.key === key;
  return { data: isKnown ? state.data : undefined, error: isKnown ? state.error : undefined, reload };
}

export function toApiError(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  return new ApiError(0, {
    code: "page_error",
    message: cause instanceof Error ? cause.message : String(cause),
  });
}
