/** A part of a form. */
export interface SentPart {
  readonly name: string;
  /** Present for files only. */
  readonly filename?: string;
}

/** A `fetch` that records the parts of every form. */
export function recordForms(): { readonly fetch: typeof fetch; readonly forms: readonly SentPart[][] } {
  const forms: SentPart[][] = [];
  return {
    forms,
    fetch: (input, init) => {
      if (init?.body instanceof FormData) forms.push([...init.body].map(toPart));
      return fetch(input, init);
    },
  };
}

function toPart([name, value]: [string, string | File]): SentPart {
  return typeof value === "string" ? { name } : { name, filename: value.name };
}
