/** A part of a form as a client names it. */
export interface SentPart {
  readonly name: string;
  /** Of files only. */
  readonly filename?: string;
}

/** A `fetch` that keeps the parts of every form that goes through it. */
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
