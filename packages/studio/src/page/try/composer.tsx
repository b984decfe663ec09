import { useState } from "preact/hooks";
import type { ModelEntry } from "../../wire.js";
import { AreaField, ChoiceField } from "../components/field.js";
import { type Messages, useMessages } from "../messages/index.js";
import { type Draft, findOwnField, maxCountOf, parseFurther } from "./draft.js";
import { References } from "./references.js";
import { findSizeChoices } from "./sizes.js";

/** What the composer needs. */
export interface ComposerProps {
  readonly models: readonly ModelEntry[];
  readonly draft: Draft;
  readonly onDraft: (change: Partial<Draft>) => void;
  /** What the gateway says about a field. */
  readonly problemOf: (...params: readonly string[]) => string | undefined;
}

/** The fields of a request: those that the model accepts, in the words of people. */
export function Composer({ models, draft, onDraft, problemOf }: ComposerProps) {
  const messages = useMessages();
  const text = messages.try;
  const model = models.find(({ id }) => id === draft.model);
  if (model === undefined) return <p>{text.noModels}</p>;
  const { capabilities } = model;
  const others = models.filter(({ id }) => id !== draft.model).map(({ id }) => [id, id] as const);
  const set =
    <Name extends keyof Draft>(name: Name) =>
    (value: Draft[Name]): void =>
      onDraft({ [name]: value });
  return (
    <>
      <AreaField
        label={text.prompt}
        value={draft.prompt}
        onValue={set("prompt")}
        isExample={draft.prompt === text.examplePrompt}
        problem={problemOf("prompt")}
        hint={text.promptHint}
        area={{ class: "prompt", rows: 5, autofocus: true }}
      />
      <ChoiceField
        label={text.model}
        value={draft.model}
        onValue={(id) => onDraft({ model: id, ...(id === draft.compared && { compared: "" }) })}
        choices={models.map(({ id }) => [id, id])}
        problem={problemOf("model")}
      />
      {others.length > 0 && (
        <ChoiceField
          label={text.compare}
          value={draft.compared}
          onValue={set("compared")}
          choices={[["", text.noComparison], ...others]}
        />
      )}
      <SizeFields model={model} draft={draft} onDraft={onDraft} problem={problemOf("size")} />
      {capabilities.operations.includes("edit") && (
        <References
          references={draft.references}
          onReferences={set("references")}
          bounds={capabilities.references}
          problem={problemOf("image", "images")}
        />
      )}
      <Advanced model={model} draft={draft} onDraft={onDraft} problem={problemOf("fields")} />
    </>
  );
}

interface PartProps extends Pick<ComposerProps, "draft" | "onDraft"> {
  readonly model: ModelEntry;
  readonly problem: string | undefined;
}

function SizeFields({ model, draft, onDraft, problem }: PartProps) {
  const { try: text } = useMessages();
  const choices = findSizeChoices(model.capabilities.sizes);
  const resolutions = choices?.resolutionsOf(draft.aspect) ?? [];
  const max = maxCountOf(model);
  return (
    <div class="row">
      {choices !== undefined && choices.aspects.length > 0 && (
        <ChoiceField
          label={text.aspect}
          value={choices.aspects.includes(draft.aspect) ? draft.aspect : ""}
          onValue={(aspect) => onDraft({ aspect })}
          choices={[["", text.anyAspect], ...choices.aspects.map((aspect) => [aspect, aspect] as const)]}
          problem={problem}
        />
      )}
      {resolutions.length > 0 && (
        <ChoiceField
          label={text.resolution}
          value={resolutions.includes(draft.resolution) ? draft.resolution : ""}
          onValue={(resolution) => onDraft({ resolution })}
          choices={[
            ["", text.anyResolution],
            ...resolutions.map((resolution) => [resolution, resolution.replace("x", " × ")] as const),
          ]}
        />
      )}
      {max > 1 && (
        <ChoiceField
          label={text.count}
          value={String(Math.min(draft.count, max))}
          onValue={(count) => onDraft({ count: Number(count) })}
          choices={Array.from({ length: max }, (_, index) => [String(index + 1), String(index + 1)])}
        />
      )}
    </div>
  );
}

/** The fields that few requests need. */
function Advanced({ model, draft, onDraft, problem }: PartProps) {
  const messages = useMessages();
  const text = messages.try;
  const [isOpen, setOpen] = useState(draft.further !== "");
  const { output_formats, background, qualities } = model.capabilities;
  const own = findOwnField(draft.further);
  const furtherProblem =
    parseFurther(draft.further) === undefined
      ? text.fieldsWrong
      : own === undefined
        ? problem
        : text.fieldsOwn(own);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text.advanced}</summary>
      <div class="composer advanced">
        <div class="row">
          <ValueField
            values={output_formats}
            label={text.format}
            value={draft.format}
            onValue={(format) => onDraft({ format })}
            text={text}
          />
          <ValueField
            values={background}
            label={text.background}
            value={draft.background}
            onValue={(chosen) => onDraft({ background: chosen })}
            text={text}
          />
          <ValueField
            values={qualities}
            label={text.quality}
            value={draft.quality}
            onValue={(quality) => onDraft({ quality })}
            text={text}
          />
        </div>
        <AreaField
          label={text.fields}
          hint={text.fieldsHint}
          value={draft.further}
          onValue={(further) => onDraft({ further })}
          problem={furtherProblem}
          area={{ class: "mono", rows: 3, spellcheck: false }}
        />
      </div>
    </details>
  );
}

function ValueField({
  values,
  label,
  value,
  onValue,
  text,
}: {
  readonly values: readonly string[] | null | undefined;
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly text: Messages["try"];
}) {
  if (values === null || values === undefined || values.length === 0) return null;
  const choices = values.map((each) => [each, each] as const);
  return (
    <ChoiceField
      label={label}
      value={values.includes(value) ? value : ""}
      onValue={onValue}
      choices={[["", text.standard], ...choices]}
    />
  );
}
