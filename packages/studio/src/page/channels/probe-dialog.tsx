import { useState } from "preact/hooks";
import type { ChannelPlan, ChannelProbe } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { Dialog } from "../components/dialog.js";
import { ActionFailure, ErrorText, Loading, Status } from "../components/feedback.js";
import { ChoiceField, TextField } from "../components/field.js";
import { useNextFocus } from "../components/focus.js";
import { useMessages } from "../messages/index.js";
import { toApiError, useData } from "../use-data.js";
import { addressOfChannel } from "./address.js";
import type { Channel } from "./health.js";

/** Says what a probe requests and what it costs, and then makes it. */
export function ProbeDialog({
  channel,
  onClose,
}: {
  readonly channel: Channel;
  readonly onClose: () => void;
}) {
  const messages = useMessages();
  const text = messages.channels;
  const plan = useData(`plan ${channel.id}`, () => call<ChannelPlan>(addressOfChannel(channel.id, "plan")));
  return (
    <Dialog title={text.probeTitle(channel.id)} onClose={onClose}>
      {plan.data === undefined && plan.error === undefined && <Loading />}
      {plan.error !== undefined && (
        <div class="notice bad" role="alert">
          <ErrorText error={plan.error} />
        </div>
      )}
      {plan.data === undefined ? (
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {messages.close}
          </button>
        </div>
      ) : (
        <ProbeForm channel={channel} estimate={plan.data.probe} onClose={onClose} />
      )}
    </Dialog>
  );
}

type ProbeState = "asking" | "running" | ChannelProbe;

function ProbeForm({
  channel,
  estimate: { images, model: first, models, series },
  onClose,
}: {
  readonly channel: Channel;
  readonly estimate: ChannelPlan["probe"];
  readonly onClose: () => void;
}) {
  const messages = useMessages();
  const text = messages.channels;
  const [chosen, setChosen] = useState(first ?? series[0] ?? "");
  const [name, setName] = useState("");
  const [state, setState] = useState<ProbeState>("asking");
  const [error, setError] = useState<ApiError>();
  const isSeries = series.includes(chosen);
  const model = isSeries ? name : chosen;
  const charge = models.find((each) => each.model === model)?.charge;
  const start = async (): Promise<void> => {
    setState("running");
    setError(undefined);
    try {
      const path = addressOfChannel(channel.id, "probe");
      setState(await call<ChannelProbe>(path, { method: "POST", body: { model } }));
    } catch (cause) {
      setError(toApiError(cause));
      setState("asking");
    }
  };
  const isDone = typeof state === "object";
  return (
    <>
      <div class="notice">
        <p>{isDone ? text.probeSpent(images) : text.probeCost(images)}</p>
        {!isDone && !isSeries && (
          <p>
            {charge === undefined || charge === null ? text.noProbePrice : text.probePrice(images, charge)}
          </p>
        )}
      </div>
      {!isDone && (
        <>
          <ChoiceField
            label={text.probeModel}
            value={chosen}
            onValue={setChosen}
            choices={[
              ...models.map((each) => [each.model, each.model] as const),
              ...series.map((each) => [each, text.probeOther(each)] as const),
            ]}
          />
          {isSeries && <TextField label={text.probeName} value={name} onValue={setName} />}
        </>
      )}
      <div role="status">
        {state === "running" && <p>{text.probeRunning}</p>}
        {isDone && <ProbeResult probe={state} />}
      </div>
      <ActionFailure error={error} />
      {isDone && channel.state === "paused" && <p class="soft">{text.probePaused}</p>}
      <div class="actions">
        {!isDone && (
          <StartButton isOff={state === "running" || model === ""} onPress={() => void start()}>
            {text.probeStart(images)}
          </StartButton>
        )}
        <button type="button" class="button" onClick={onClose}>
          {messages.close}
        </button>
      </div>
    </>
  );
}

/** Goes away when the result is there. The dialog keeps the focus. */
function StartButton(button: {
  readonly isOff: boolean;
  readonly onPress: () => void;
  readonly children: string;
}) {
  const frame = useNextFocus<HTMLSpanElement>();
  return (
    <span ref={frame}>
      <ActionButton class="button primary" {...button} />
    </span>
  );
}

function ProbeResult({ probe }: { readonly probe: ChannelProbe }) {
  const { channels: text } = useMessages();
  return (
    <ul>
      {probe.keys.map((key) => (
        <li key={key.index}>
          {key.ok ? (
            <Status tone="good">
              {text.key(key.index + 1)}: {text.probeWorks((key.durationMs / 1000).toFixed(1))}
            </Status>
          ) : (
            <>
              <Status tone="bad">
                {text.key(key.index + 1)}: {text.probeFails}
              </Status>
              <p class="wrap">
                {text.reasons[key.reason] ?? key.reason} {key.message}
              </p>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
