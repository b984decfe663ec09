import { useEffect, useRef, useState } from "preact/hooks";
import { useMessages } from "../messages/index.js";
import type { Reference } from "./draft.js";

/** What the list of reference images needs. */
export interface ReferencesProps {
  readonly references: readonly Reference[];
  readonly onReferences: (references: readonly Reference[]) => void;
  readonly bounds: { readonly min: number; readonly max: number } | null;
  readonly problem: string | undefined;
}

/** Reference images, by drop, paste and file. Their order can be changed by dragging, and with buttons. */
export function References({ references, onReferences, bounds, problem }: ReferencesProps) {
  const { try: text } = useMessages();
  const [isOver, setOver] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const dragged = useRef<number | undefined>(undefined);
  const input = useRef<HTMLInputElement>(null);
  const chooser = useRef<HTMLButtonElement>(null);
  const latest = useRef(references);
  latest.current = references;

  const add = async (files: readonly File[]): Promise<void> => {
    const unfit = files.find(({ type }) => !type.startsWith("image/"));
    setWrong(unfit && text.notAnImage(unfit.name));
    const read = await Promise.all(files.filter(({ type }) => type.startsWith("image/")).map(readReference));
    if (read.length > 0) onReferences([...latest.current, ...read]);
  };
  // A button that moves an image keeps the focus: it is not disabled at the ends, where it has no effect.
  const move = (from: number, to: number): void => {
    if (to < 0 || to >= references.length) return;
    const moved = [...references];
    moved.splice(to, 0, ...moved.splice(from, 1));
    onReferences(moved);
  };
  const remove = (index: number): void => {
    URL.revokeObjectURL(references[index]?.objectUrl ?? "");
    onReferences(references.filter((_, other) => other !== index));
    // The button that was pressed is gone.
    chooser.current?.focus();
  };
  usePastedFiles(add);

  const max = bounds?.max ?? 16;
  const countProblem = references.length > max ? text.tooManyReferences(max) : undefined;
  return (
    <fieldset>
      <legend>{text.references}</legend>
      <div
        class={isOver ? "drop over" : "drop"}
        onDragOver={(event) => {
          if (event.dataTransfer?.types.includes("Files") !== true) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void add([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        <p>{text.referencesHint}</p>
        {(bounds?.min ?? 0) > 0 && <p>{text.referencesNeeded(bounds?.min ?? 0)}</p>}
        <button ref={chooser} type="button" class="button plain" onClick={() => input.current?.click()}>
          {text.chooseFiles}
        </button>
        <input
          ref={input}
          type="file"
          accept="image/*"
          multiple
          hidden
          aria-label={text.chooseFiles}
          onChange={({ currentTarget }) => {
            void add([...(currentTarget.files ?? [])]);
            currentTarget.value = "";
          }}
        />
      </div>
      {references.length > 0 && (
        <ol class="references">
          {references.map((reference, index) => (
            <li
              key={reference.id}
              draggable
              onDragStart={(event) => {
                // Firefox drags nothing without data.
                event.dataTransfer?.setData("text/plain", reference.name);
                dragged.current = index;
              }}
              onDragEnd={() => {
                dragged.current = undefined;
              }}
              onDragOver={(event) => {
                if (dragged.current !== undefined) event.preventDefault();
              }}
              onDrop={(event) => {
                if (dragged.current === undefined) return;
                event.preventDefault();
                event.stopPropagation();
                move(dragged.current, index);
                dragged.current = undefined;
              }}
            >
              <img src={reference.objectUrl} alt={text.reference(index + 1)} title={reference.name} />
              <span class="tools">
                <button
                  type="button"
                  class="button plain"
                  aria-disabled={index === 0}
                  aria-label={text.moveEarlier(index + 1)}
                  onClick={() => move(index, index - 1)}
                >
                  ←
                </button>
                <button
                  type="button"
                  class="button plain"
                  aria-label={text.remove(index + 1)}
                  onClick={() => remove(index)}
                >
                  ×
                </button>
                <button
                  type="button"
                  class="button plain"
                  aria-disabled={index === references.length - 1}
                  aria-label={text.moveLater(index + 1)}
                  onClick={() => move(index, index + 1)}
                >
                  →
                </button>
              </span>
            </li>
          ))}
        </ol>
      )}
      <p class="field" role="status">
        <span class="problem">{wrong ?? countProblem ?? problem ?? ""}</span>
      </p>
    </fieldset>
  );
}

/** Calls the function with images that are pasted anywhere in the page. */
function usePastedFiles(add: (files: readonly File[]) => Promise<void>): void {
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      void latest.current(files);
    };
    addEventListener("paste", paste);
    return () => removeEventListener("paste", paste);
  }, []);
}

let ids = 0;

async function readReference(file: File): Promise<Reference> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const parts: string[] = [];
  // In parts, because a function cannot be called with millions of arguments. A multiple of 3, so that they can be joined.
  for (let start = 0; start < bytes.length; start += PART) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(start, start + PART))));
  }
  const dataUrl = `data:${file.type};base64,${parts.join("")}`;
  return { id: ++ids, name: file.name, dataUrl, objectUrl: URL.createObjectURL(file) };
}

const PART = 3 * 4_096;
