import type { Client, EditRequest, GenerateRequest } from "@calotype/client";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { ImagesCall, type ImagesState } from "./images-call.js";
import type { ImagesStorage } from "./stored-call.js";

/** The options of {@link useImages}. */
export interface UseImagesOptions {
  /** A client of the gateway. Create it once, outside of the component. */
  readonly client: Client;
  /**
   * Makes each call a task, and keeps its id in `storage` under this key: the hook finds the task again after a reload and when its
   * component is mounted again. Two hooks on the same page need two keys. Default: each call is a stream, which ends with its component.
   */
  readonly storageKey?: string | undefined;
  /** Default: the `sessionStorage` of the page. */
  readonly storage?: ImagesStorage | undefined;
}

/** The state of a call, and what can be done with it. The functions are the same in each rendering. */
export interface UseImages extends ImagesState {
  /** Starts a call that makes images. Does nothing while a call is in progress. */
  readonly generate: (request: GenerateRequest) => void;
  /** Starts a call that edits images. Does nothing while a call is in progress. */
  readonly edit: (request: EditRequest) => void;
  /**
   * Ends the call: the status is `idle`, and the images so far stay. A task that waits is cancelled and costs nothing. What was sent
   * to a provider is made and charged.
   */
  readonly abort: () => void;
  /** As `abort`, and forgets the images, the error and the stored task. */
  readonly reset: () => void;
}

/**
 * Makes and edits images in a component.
 *
 * @example
 * ```ts
 * import { createClient } from "@calotype/client";
 * import { useImages } from "@calotype/react";
 *
 * const client = createClient({ baseUrl: "/ai" });
 *
 * export function useBoats() {
 *   const { status, images, generate } = useImages({ client, storageKey: "boats" });
 *   return {
 *     isBusy: status === "queued" || status === "running",
 *     links: images.map(({ url }) => url),
 *     make: () => generate({ model: "seedream-4-5", prompt: "a paper boat on a lake", n: 4 }),
 *   };
 * }
 * ```
 */
export function useImages({ client, storageKey, storage }: UseImagesOptions): UseImages {
  const [call] = useState(() => new ImagesCall({ client, storageKey, storage }));
  const state = useSyncExternalStore(call.subscribe, call.getState, call.getState);
  // Without a list: a client that is created in each rendering must not end the call.
  useEffect(() => call.update({ client, storageKey, storage }));
  useEffect(() => {
    call.mount();
    return () => call.unmount();
  }, [call, storageKey]);
  return useMemo(
    () => ({ ...state, generate: call.start, edit: call.start, abort: call.abort, reset: call.reset }),
    [call, state],
  );
}
