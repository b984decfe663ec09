import { useState } from "preact/hooks";
import type { ChannelProbe, GatewayStatus, Session } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { Dialog } from "../components/dialog.js";
import { ActionFailure, Code, Failure, Loading, StaleNote, Status } from "../components/feedback.js";
import { TextField } from "../components/field.js";
import { type Messages, useMessages } from "../messages/index.js";
import { toApiError, useData } from "../use-data.js";

type Channel = GatewayStatus["channels"][number];
type Health = Pick<Channel, "state" | "reason" | "nextTryAt">;

const EXAMPLE = 'channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }]';

/** The state of the channels, with their keys and models. It is read again every five seconds. */
export function ChannelsView({ session }: { readonly session: Session }) {
  const messages = useMessages();
  const { data, error, reload } = useData("status", () => call<GatewayStatus>("status"), 5);
  const [probed, setProbed] = useState<Channel>();
  return (
    <>
      <div class="view-head">
        <h1>{messages.views.channels}</h1>
      </div>
      {data === undefined && error === undefined && <Loading />}
      {data === undefined && error !== undefined && <Failure error={error} onRetry={reload} />}
      {data !== undefined && <StaleNote error={error} />}
      {data?.channels.length === 0 && (
        <div class="empty">
          <p>{messages.channels.empty}</p>
          <p class="soft">{messages.channels.emptyHint}</p>
          <Code code={EXAMPLE} label={messages.channels.emptyHint} />
        </div>
      )}
      {data !== undefined && data.channels.length > 0 && (
        <ChannelTable channels={data.channels} onProbe={session.role === "admin" ? setProbed : undefined} />
      )}
      {data !== undefined && (
        <dl class="facts section">
          <dt>{messages.channels.ledger}</dt>
          <dd>
            <HealthOf state={data.ledger.state} />
          </dd>
          <dt>{messages.channels.store}</dt>
          <dd>
            <HealthOf state={data.store.state} />
          </dd>
        </dl>
      )}
      {probed !== undefined && (
        <ProbeDialog
          channel={probed}
          onClose={() => {
            setProbed(undefined);
            reload();
          }}
        />
      )}
    </>
  );
}

function HealthOf({ state }: { readonly state: "ok" | "failing" | "unknown" }) {
  const { channels: text } = useMessages();
  const tones = { ok: "good", failing: "bad", unknown: "none" } as const;
  return <Status tone={tones[state]}>{text.health[state] ?? state}</Status>;
}

function ChannelTable({
  channels,
  onProbe,
}: {
  readonly channels: readonly Channel[];
  readonly onProbe: ((channel: Channel) => void) | undefined;
}) {
  const { channels: text, views } = useMessages();
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={views.channels}>
      <table>
        <thead>
          <tr>
            <th>{text.channel}</th>
            <th>{text.state}</th>
            <th>{text.reason}</th>
            <th>{text.nextTry}</th>
            <th>
              <span class="hidden-text">{text.probe}</span>
            </th>
          </tr>
        </thead>
        {channels.map((channel) => (
          <tbody key={channel.id}>
            <tr>
              <td class="wrap">{channel.id}</td>
              <HealthCells health={channel} />
              <td>
                {onProbe !== undefined && (
                  <button
                    type="button"
                    class="button plain"
                    aria-label={text.probeTitle(channel.id)}
                    onClick={() => onProbe(channel)}
                  >
                    {text.probe}
                  </button>
                )}
              </td>
            </tr>
            {channel.keys?.map((key) => (
              <tr key={key.index} class="sub">
                <td class="soft">{text.key(key.index + 1)}</td>
                <HealthCells health={key} />
                <td />
              </tr>
            ))}
            {channel.models?.map((model) => (
              <tr key={`${model.upstreamModel} ${model.key}`} class="sub">
                <td class="soft wrap">
                  {model.upstreamModel}
                  {model.key !== undefined && ` ${text.withKey(model.key + 1)}`}
                </td>
                <HealthCells health={model} />
                <td />
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

function HealthCells({ health: { state, reason, nextTryAt } }: { readonly health: Health }) {
  const messages = useMessages();
  const { channels: text } = messages;
  const tones = { ready: "good", cooling: "bad", probing: "warn", paused: "none" } as const;
  return (
    <>
      <td>
        <Status tone={tones[state]}>{text.states[state]}</Status>
      </td>
      <td>{reason === undefined ? "" : (text.reasons[reason] ?? reason)}</td>
      <td>{nextTryAt === undefined ? "" : untilText(nextTryAt, messages)}</td>
    </>
  );
}

function untilText(iso: string, { channels: text }: Messages): string {
  const seconds = Math.ceil((Date.parse(iso) - Date.now()) / 1000);
  return seconds <= 0 ? text.now : text.inSeconds(seconds);
}

type ProbeState = "asking" | "running" | ChannelProbe;

/** Says what a probe costs, and then makes it. */
function ProbeDialog({ channel, onClose }: { readonly channel: Channel; readonly onClose: () => void }) {
  const messages = useMessages();
  const text = messages.channels;
  const [model, setModel] = useState("");
  const [state, setState] = useState<ProbeState>("asking");
  const [error, setError] = useState<ApiError>();
  const keys = channel.keys?.length ?? 1;
  const start = async (): Promise<void> => {
    setState("running");
    setError(undefined);
    try {
      const body = model === "" ? {} : { model };
      const path = `channels/${encodeURIComponent(channel.id)}/probe`;
      setState(await call<ChannelProbe>(path, { method: "POST", body }));
    } catch (cause) {
      setError(toApiError(cause));
      setState("asking");
    }
  };
  return (
    <Dialog title={text.probeTitle(channel.id)} onClose={onClose}>
      <p>{text.probeCost(keys)}</p>
      {typeof state === "object" ? (
        <ProbeResult probe={state} />
      ) : (
        <TextField
          label={`${text.probeModel} (${messages.optional})`}
          hint={text.probeDefault}
          value={model}
          onValue={setModel}
        />
      )}
      <ActionFailure error={error} />
      <p role="status">{state === "running" ? text.probeRunning : ""}</p>
      <div class="actions">
        {typeof state !== "object" && (
          <button
            type="button"
            class="button primary"
            disabled={state === "running"}
            onClick={() => void start()}
          >
            {text.probeStart(keys)}
          </button>
        )}
        <button type="button" class="button" onClick={onClose}>
          {messages.close}
        </button>
      </div>
    </Dialog>
  );
}

function ProbeResult({ probe }: { readonly probe: ChannelProbe }) {
  const { channels: text } = useMessages();
  return (
    <ul role="status">
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
