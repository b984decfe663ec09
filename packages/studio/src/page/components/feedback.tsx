import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api.js";
import { useMessages } from "../messages/index.js";
import { useNextFocus } from "./focus.js";
import { Icon } from "./icon.js";

/** Shown only if loading takes long enough to be seen. */
export function Loading() {
  const messages = useMessages();
  return (
    <p class="soft" role="status">
      {messages.loading}
    </p>
  );
}

/**
 * An error, said once: what happened in our words, or else in those of the server, and what the provider said. Then its code,
 * for those who look it up.
 */
export function ErrorText({ error }: { readonly error: ApiError }) {
  const messages = useMessages();
  const isOfProvider = error.upstreamRequestId !== undefined;
  // Which field is wrong, and how, only the server says.
  const isExact = error.code === "invalid_request_error" && !isOfProvider;
  const own =
    error.code === "unreachable"
      ? messages.unreachable
      : (messages.errors[error.code] ??
        (isOfProvider && error.status < 500 ? messages.providerRefused : messages.errors[error.status]));
  return (
    <>
      {own !== undefined && !isExact && <p>{own}</p>}
      {(own === undefined || isExact) && <p class="wrap">{error.message}</p>}
      {isOfProvider && own !== undefined && (
        <p class="wrap">
          <span class="soft">{messages.providerSays}</span> {error.message}
        </p>
      )}
      <p class="small soft wrap">
        <code>
          {[error.code, error.param, error.upstreamRequestId]
            .filter((part) => part !== undefined)
            .join(" · ")}
        </code>
      </p>
    </>
  );
}

/** A failure to load what would stand here. */
export function Failure({ error, onRetry }: { readonly error: ApiError; readonly onRetry: () => void }) {
  const messages = useMessages();
  const notice = useNextFocus<HTMLDivElement>();
  return (
    <div ref={notice} class="notice bad" role="alert">
      <p>
        <strong>{messages.problem}</strong>
      </p>
      <ErrorText error={error} />
      <p>{messages.onlyRead}</p>
      <button type="button" class="button" onClick={onRetry}>
        {messages.retry}
      </button>
    </div>
  );
}

/** A failed action, beside what was tried. */
export function ActionFailure({ error }: { readonly error: ApiError | undefined }) {
  if (error === undefined) return null;
  return (
    <div class="notice bad" role="alert">
      <ErrorText error={error} />
    </div>
  );
}

/** Says that a refresh failed while the old data are shown. */
export function StaleNote({ error }: { readonly error: ApiError | undefined }) {
  const messages = useMessages();
  return error === undefined ? null : (
    <p class="notice bad" role="status">
      {messages.stale}
    </p>
  );
}

/** A state in words and color, with a shape for those who do not see the color. */
export function Status({
  tone,
  children,
}: {
  readonly tone: "good" | "warn" | "bad" | "none";
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`status ${tone}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {tone === "good" && <circle cx="6" cy="6" r="5" fill="currentColor" />}
        {tone === "warn" && <path d="M6 0.5 11.5 11H0.5z" fill="currentColor" />}
        {tone === "bad" && <path d="M1 1h10v10H1z" fill="currentColor" />}
        {tone === "none" && <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="2" />}
      </svg>
      {children}
    </span>
  );
}

/** Copies a text. Says so for a moment, also to screen readers. */
export function CopyButton({
  text,
  label,
  isPrimary = false,
}: {
  readonly text: string;
  readonly label?: string;
  /** Whether it is what the person should do next. Default false: it looks like a link. */
  readonly isPrimary?: boolean;
}) {
  const messages = useMessages();
  const { isCopied, copy } = useCopy(text);
  return (
    <>
      <button
        type="button"
        class={isPrimary ? "button primary" : "button plain"}
        onClick={() => void copy()}
        aria-label={label && `${messages.copy}: ${label}`}
      >
        <Icon name={isCopied ? "check" : "copy"} />
        {isCopied ? messages.copied : messages.copy}
      </button>
      <span class="hidden-text" role="status">
        {isCopied ? messages.copied : ""}
      </span>
    </>
  );
}

/** A button that says what it copies. */
export function CopyText({
  text,
  children,
}: {
  readonly text: string;
  readonly children: ComponentChildren;
}) {
  const messages = useMessages();
  const { isCopied, copy } = useCopy(text);
  return (
    <>
      <button type="button" class="button" onClick={() => void copy()}>
        <Icon name={isCopied ? "check" : "copy"} />
        {isCopied ? messages.copied : children}
      </button>
      <span class="hidden-text" role="status">
        {isCopied ? messages.copied : ""}
      </span>
    </>
  );
}

/** Copies a text, and tells for a moment that it did. */
function useCopy(text: string) {
  const [isCopied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    await writeClipboard(text);
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), 2_000);
  };
  return { isCopied, copy };
}

/** The clipboard of browsers works on https and on this machine. Elsewhere a text field is copied from. */
async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
}

/** Lines of code, below a button that copies them. Lines that are too long are wrapped. */
export function Code({ code, label }: { readonly code: string; readonly label: string }) {
  return (
    <div class="code-block">
      <CopyButton text={code} label={label} />
      <pre class="code">{code}</pre>
    </div>
  );
}
