import { useState } from "preact/hooks";
import type { CallerRow, NewKey } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { Dialog } from "../components/dialog.js";
import { ActionFailure } from "../components/feedback.js";
import { ChoiceField, TextField } from "../components/field.js";
import { useFocusOnProblem } from "../components/focus.js";
import { useMessages } from "../messages/index.js";
import { toApiError } from "../use-data.js";
import { type CallerFields, NO_FIELDS, toFields, toPatch, toSettings } from "./caller-fields.js";

/** The form of a new caller, or of one that exists. */
export function CallerForm({
  caller,
  onClose,
  onCreated,
  onChanged,
}: {
  readonly caller?: CallerRow;
  readonly onClose: () => void;
  readonly onCreated?: (created: NewKey) => void;
  readonly onChanged?: () => void;
}) {
  const messages = useMessages();
  const text = messages.callers;
  const [id, setId] = useState("");
  // The panel reads the caller again while the form is open. What another person has changed since is not a change of this form.
  const [before] = useState(caller);
  const [fields, setFields] = useState(() => (caller === undefined ? NO_FIELDS : toFields(caller)));
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const form = useFocusOnProblem(error);
  const set =
    (name: keyof CallerFields) =>
    (value: string): void =>
      setFields((old) => ({ ...old, [name]: value }));
  const save = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      if (before === undefined) {
        const body = { id: id.trim(), ...toSettings(fields) };
        onCreated?.(await call<NewKey>("callers", { method: "POST", body }));
      } else {
        const path = `callers/${encodeURIComponent(before.id)}`;
        const body = toPatch(before, fields);
        if (body !== undefined) await call(path, { method: "PATCH", body });
        onChanged?.();
      }
    } catch (cause) {
      setError(toApiError(cause));
      setBusy(false);
    }
  };
  const problemOf = (param: string): string | undefined =>
    error?.param === param || error?.param?.startsWith(`${param}.`) === true ? error.message : undefined;
  const shown = error?.param;
  const isAtField = ["id", "group", "models", "expiresAt", "budget", "limits"].some(
    (name) => shown === name || shown?.startsWith(`${name}.`),
  );
  return (
    <Dialog title={caller === undefined ? text.create : `${text.change}: ${caller.id}`} onClose={onClose}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {caller === undefined && (
          <>
            <p class="soft">{text.createHint}</p>
            <TextField
              label={text.id}
              value={id}
              onValue={setId}
              problem={problemOf("id")}
              input={{ autocomplete: "off", spellcheck: false, maxLength: 200, autofocus: true }}
            />
          </>
        )}
        <fieldset>
          <legend>{text.budget}</legend>
          <div class="row">
            <TextField
              label={text.amount}
              hint={text.noBudget}
              value={fields.amount}
              onValue={set("amount")}
              problem={problemOf("budget")}
              input={{ inputMode: "decimal" }}
            />
            <ChoiceField
              label={text.period}
              value={fields.period}
              onValue={set("period")}
              choices={Object.entries(text.periods)}
            />
            {fields.period !== "total" && (
              <TextField
                label={text.timeZone}
                value={fields.timeZone}
                onValue={set("timeZone")}
                input={{ placeholder: "UTC", spellcheck: false }}
              />
            )}
          </div>
        </fieldset>
        <fieldset>
          <legend>{text.limits}</legend>
          <div class="row">
            {(["requestsPerMinute", "imagesPerMinute", "concurrent", "waitSeconds"] as const).map((name) => (
              <TextField
                key={name}
                label={text[name]}
                value={fields[name]}
                onValue={set(name)}
                problem={problemOf(`limits.${name}`)}
                input={{ placeholder: text.gatewayLimit, spellcheck: false }}
              />
            ))}
          </div>
          <p class="small soft">{text.limitsHint}</p>
        </fieldset>
        <div class="row">
          <TextField
            label={text.group}
            hint={text.groupHint}
            value={fields.group}
            onValue={set("group")}
            problem={problemOf("group")}
          />
          <TextField
            label={text.expires}
            hint={text.expiresHint}
            value={fields.expiresAt}
            onValue={set("expiresAt")}
            problem={problemOf("expiresAt")}
            input={{ type: "datetime-local" }}
          />
        </div>
        <TextField
          label={text.models}
          hint={text.modelsHint}
          value={fields.models}
          onValue={set("models")}
          problem={problemOf("models")}
          input={{ spellcheck: false }}
        />
        {!isAtField && <ActionFailure error={error} />}
        <div class="actions">
          <ActionButton type="submit" class="button primary" isOff={isBusy}>
            {caller === undefined ? text.create : text.save}
          </ActionButton>
          <button type="button" class="button" onClick={onClose}>
            {messages.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
