import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Icon } from "./icon.js";

/** The parts of every field. */
export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
}

/** What ties a control to its label, its hint and its problem. */
interface Tied {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: "true";
}

/** Further attributes of an input. */
interface InputProps {
  readonly type?: "text" | "password" | "datetime-local";
  readonly inputMode?: "numeric" | "decimal";
  readonly autocomplete?: "off";
  readonly spellcheck?: boolean;
  readonly maxLength?: number;
  readonly autofocus?: boolean;
  readonly placeholder?: string;
  readonly required?: boolean;
}

/** Further attributes of a text area. */
interface AreaProps {
  readonly class?: string;
  readonly rows?: number;
  readonly autofocus?: boolean;
  readonly spellcheck?: boolean;
}

function Frame({
  label,
  hint,
  problem,
  render,
}: FieldProps & { readonly render: (tied: Tied) => ComponentChildren }) {
  const id = useId();
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {render({
        id,
        ...(described !== "" && { "aria-describedby": described }),
        ...(problem !== undefined && { "aria-invalid": "true" }),
      })}
      {hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {problem !== undefined && (
        <span class="problem" id={`${id}-problem`} role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}

/** A text or a number on one line. */
export function TextField({
  value,
  onValue,
  input = {},
  ...frame
}: FieldProps & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly input?: InputProps;
}) {
  // Preact's types give each type of input its own attributes. Those of InputProps fit all of its types.
  const attributes: object = input;
  return (
    <Frame
      {...frame}
      render={(tied) => (
        <input
          {...attributes}
          {...tied}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    />
  );
}

/** A text of several lines. */
export function AreaField({
  value,
  onValue,
  isExample = false,
  area,
  ...frame
}: FieldProps & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Whether the text is an example, which what a person types replaces. */
  readonly isExample?: boolean;
  readonly area?: AreaProps;
}) {
  return (
    <Frame
      {...frame}
      render={(tied) => (
        <textarea
          {...area}
          {...tied}
          value={value}
          onFocus={({ currentTarget }) => isExample && currentTarget.select()}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    />
  );
}

/** One of several values: `[value, text]`. */
export function ChoiceField({
  value,
  onValue,
  choices,
  ...frame
}: FieldProps & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly choices: readonly (readonly [value: string, text: string])[];
}) {
  return (
    <Frame
      {...frame}
      render={(tied) => (
        <span class="select">
          <select {...tied} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
            {choices.map(([each, text]) => (
              <option key={each} value={each}>
                {text}
              </option>
            ))}
          </select>
          <Icon name="choose" />
        </span>
      )}
    />
  );
}
