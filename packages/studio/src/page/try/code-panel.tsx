import { useState } from "preact/hooks";
import type { EstimateQuery } from "../../wire.js";
import { Code } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";
import { CODE_KINDS, type CodeKind, writeCode } from "./code.js";

/** The request of the composer as code. */
export function CodePanel({ query, baseUrl }: { readonly query: EstimateQuery; readonly baseUrl: string }) {
  const { try: text } = useMessages();
  const [kind, setKind] = useState<CodeKind>("curl");
  const code = writeCode(kind, query, baseUrl);
  return (
    <details>
      <summary>{text.code}</summary>
      <div class="composer advanced">
        <div class="actions">
          <div class="segments">
            {CODE_KINDS.map((each) => (
              <button key={each} type="button" aria-pressed={each === kind} onClick={() => setKind(each)}>
                {each}
              </button>
            ))}
          </div>
        </div>
        <Code code={code} label={kind} />
        <p class="small soft">{text.codeHint}</p>
      </div>
    </details>
  );
}
