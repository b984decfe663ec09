import { useState } from "preact/hooks";
import type { ChannelPlan, PauseRequest } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { Dialog } from "../components/dialog.js";
import { ActionFailure } from "../components/feedback.js";
import { ChoiceField, TextField } from "../components/field.js";
import { useMessages } from "../messages/index.js";
import { toApiError, useData } from "../use-data.js";
import { addressOfChannel } from "./address.js";

/** Says what a pause does, and to which models, and then pauses the channel. */
export function PauseDialog({
  id,
  onClose,
  onDone,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const messages = useMessages();
  const text = messages.channels;
  const [seconds, setSeconds] = useState("");
  const [note, setNote] = useState("");
  const plan = useData(`plan ${id}`, () => call<ChannelPlan>(addressOfChannel(id, "plan")));
  const { isBusy, error, run } = useAction(onDone);
  const pause = (): void => {
    const body: PauseRequest = {
      ...(seconds !== "" && { seconds: Number(seconds) }),
      ...(note !== "" && { note }),
    };
    run(() => call(addressOfChannel(id, "pause"), { method: "POST", body }));
  };
  return (
    <Dialog title={text.pauseTitle(id)} onClose={onClose}>
      <p>{text.pauseEffect}</p>
      <p class="small soft">{text.pauseMemory}</p>
      <Effect only={plan.data?.only} isUnknown={plan.error !== undefined} />
      <ChoiceField
        label={text.pauseFor}
        value={seconds}
        onValue={setSeconds}
        choices={Object.entries(text.pauseTimes).toSorted(([a], [b]) => Number(a) - Number(b))}
      />
      <TextField
        label={`${text.note} (${messages.optional})`}
        hint={text.noteHint}
        value={note}
        onValue={setNote}
        input={{ maxLength: 160 }}
      />
      <ActionFailure error={error ?? plan.error} />
      <div class="actions">
        <ActionButton class="button danger" isOff={isBusy} onPress={pause}>
          {text.pause}
        </ActionButton>
        <button type="button" class="button" onClick={onClose}>
          {messages.cancel}
        </button>
      </div>
    </Dialog>
  );
}

/** Which models are refused while the channel is paused. Keeps its place while that is loaded. */
function Effect({
  only,
  isUnknown,
}: {
  readonly only: readonly string[] | undefined;
  readonly isUnknown: boolean;
}) {
  const { channels: text, loading } = useMessages();
  if (isUnknown) return null;
  if (only !== undefined && only.length > 0) {
    return (
      <div class="notice bad" role="alert">
        <p>{text.pauseOnly}</p>
        <ul>
          {only.map((name) => (
            <li key={name} class="mono wrap">
              {name}
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <p role="status" class={only === undefined ? "soft" : ""}>
      {only === undefined ? loading : text.pauseOthers}
    </p>
  );
}

/** Says what happens, and then ends the pause of the channel. */
export function ResumeDialog({
  id,
  onClose,
  onDone,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const messages = useMessages();
  const text = messages.channels;
  const { isBusy, error, run } = useAction(onDone);
  const resume = (): void => run(() => call(addressOfChannel(id, "resume"), { method: "POST", body: {} }));
  return (
    <Dialog title={text.resumeTitle(id)} onClose={onClose}>
      <p>{text.resumeEffect}</p>
      <ActionFailure error={error} />
      <div class="actions">
        <ActionButton class="button primary" isOff={isBusy} onPress={resume}>
          {text.resume}
        </ActionButton>
        <button type="button" class="button" onClick={onClose}>
          {messages.cancel}
        </button>
      </div>
    </Dialog>
  );
}

/** An action that is done once, and its failure. */
function useAction(onDone: () => void): {
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
  readonly run: (action: () => Promise<unknown>) => void;
} {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const run = (action: () => Promise<unknown>): void => {
    setBusy(true);
    setError(undefined);
    action().then(onDone, (cause: unknown) => {
      setError(toApiError(cause));
      setBusy(false);
    });
  };
  return { isBusy, error, run };
}
