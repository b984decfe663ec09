import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SearchResult } from "../../wire.js";
import { call } from "../api.js";
import { shorten } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { addressOf, go, VIEWS } from "../router.js";
import { NOT_SUCCESSFUL } from "../usage/outcome.js";
import { toApiError } from "../use-data.js";

/** Something that the palette finds: where it leads to, and what kind of thing it is. */
interface Found {
  readonly label: string;
  /** What is shown of it on the right, such as the view that it opens. */
  readonly hint: string;
  readonly address: string;
}

interface FoundGroup {
  readonly label: string;
  readonly items: readonly Found[];
}

/** Finds pages, actions, callers, channels, models, and a request by its id. `onClose` gets whether the person has chosen something. */
export function Palette({ onClose }: { readonly onClose: (hasChosen: boolean) => void }) {
  const messages = useMessages();
  const { search: text } = messages;
  const [typed, setTyped] = useState("");
  const { result, problem } = useSearch(typed);
  const groups = toGroups(typed, result, messages);
  const isFound = groups.length > 0;
  const hasChosen = useRef(false);
  const choose = ({ address }: Found): void => {
    hasChosen.current = true;
    go(address);
    onClose(true);
  };
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose(false)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="palette" finalFocus={() => !hasChosen.current}>
          <Dialog.Title className="hidden-text">{text.title}</Dialog.Title>
          <Autocomplete.Root
            items={groups}
            inline
            open
            mode="none"
            autoHighlight="always"
            keepHighlight
            value={typed}
            onValueChange={(value) => setTyped(value)}
            itemToStringValue={({ label }: Found) => label}
          >
            <Autocomplete.Input
              aria-label={text.placeholder}
              placeholder={text.placeholder}
              spellcheck={false}
            />
            <Autocomplete.Status className="small soft">
              {problem ?? (isFound ? "" : result === undefined ? text.searching : text.none)}
            </Autocomplete.Status>
            <Autocomplete.List className="found" aria-label={text.results}>
              {(group: FoundGroup) => (
                <Autocomplete.Group key={group.label} items={group.items}>
                  <Autocomplete.GroupLabel className="small soft">{group.label}</Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(found: Found) => (
                      <Autocomplete.Item key={found.address} value={found} onClick={() => choose(found)}>
                        <span className="wrap">{found.label}</span>
                        {found.hint !== "" && <span className="small soft">{found.hint}</span>}
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function toGroups(
  typed: string,
  result: SearchResult | undefined,
  { search: text, views, usage, language }: Messages,
): readonly FoundGroup[] {
  const asked = typed.trim().toLowerCase();
  const matches = (name: string): boolean => name.toLowerCase().includes(asked);
  const pages = VIEWS.filter((view) => matches(views[view]) || matches(view)).map((view) => ({
    label: views[view],
    hint: "",
    address: addressOf(view),
  }));
  // The result may be that of the text before. A choice must never be one that the text does not find.
  const callers = result?.callers.filter(matches) ?? [];
  const channels = result?.channels.filter(matches) ?? [];
  const models = result?.models.filter(matches) ?? [];
  const request = result?.request?.id === typed.trim() ? result.request : undefined;
  const requests =
    request === undefined
      ? []
      : [
          {
            label: shorten(request.id, 32),
            hint: `${new Date(request.time).toLocaleString(language)} · ${request.state === "refused" ? usage.outcomes.refused : (request.charge ?? "–")}`,
            address: addressOf("usage", { request: request.id }),
          },
        ];
  const actions = [
    { label: text.makeImage, hint: "", address: addressOf("try") },
    { label: text.createCaller, hint: "", address: addressOf("callers", { create: "1" }) },
    {
      label: text.showFailed,
      hint: "",
      address: addressOf("usage", { period: "24h", outcomes: NOT_SUCCESSFUL }),
    },
  ].filter(({ label }) => matches(label));
  return [
    { label: usage.requests, items: requests },
    { label: text.pages, items: pages },
    { label: text.actions, items: actions },
    {
      label: views.callers,
      items: callers.map((id) => ({ label: id, hint: "", address: addressOf("callers", { caller: id }) })),
    },
    {
      label: views.channels,
      items: channels.map((id) => ({ label: id, hint: "", address: addressOf("channels", { channel: id }) })),
    },
    {
      label: text.models,
      items: models.flatMap((id) => [
        { label: id, hint: views.try, address: addressOf("try", { model: id }) },
        { label: id, hint: views.usage, address: addressOf("usage", { model: id }) },
      ]),
    },
  ].filter(({ items }) => items.length > 0);
}

const WAIT_MS = 80;

/** Asks the server when the person has stopped writing for a moment. What was found before stays until then. */
function useSearch(typed: string): { readonly result?: SearchResult; readonly problem?: string } {
  const [state, setState] = useState<{ readonly result?: SearchResult; readonly problem?: string }>({});
  const asked = typed.trim().slice(0, 256);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(
      () => {
        call<SearchResult>(`search?${new URLSearchParams({ text: asked }).toString()}`, {
          signal: abort.signal,
        }).then(
          (result) => setState({ result }),
          (cause: unknown) => {
            if (!abort.signal.aborted) setState({ problem: toApiError(cause).message });
          },
        );
      },
      asked === "" ? 0 : WAIT_MS,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asked]);
  return state;
}
