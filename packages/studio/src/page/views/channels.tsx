import { useState } from "preact/hooks";
import type { ChannelFacts, GatewayStatus, Session } from "../../wire.js";
import { call } from "../api.js";
import type { Act, ChannelAction } from "../channels/channel-actions.js";
import { ChannelPanel } from "../channels/channel-panel.js";
import { ChannelTable } from "../channels/channel-table.js";
import type { Channel } from "../channels/health.js";
import { PauseDialog, ResumeDialog } from "../channels/pause-dialog.js";
import { ProbeDialog } from "../channels/probe-dialog.js";
import { announce } from "../components/announcer.js";
import { Code, Failure, Loading, StaleNote, Status } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";
import { addressOf, go } from "../router.js";
import { useData } from "../use-data.js";

const EXAMPLE = 'channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }]';

/** The channels with their keys and models. It is read again every five seconds. The address names the selected channel. */
export function ChannelsView({
  session,
  query,
}: {
  readonly session: Session;
  readonly query: URLSearchParams;
}) {
  const messages = useMessages();
  const text = messages.channels;
  const { data, error, reload } = useData("status", () => call<GatewayStatus>("status"), 5);
  const listed = useData("channels", (signal) => call<readonly ChannelFacts[]>("channels", { signal }), 60);
  const facts = listed.data && new Map(listed.data.map((each) => [each.id, each]));
  const [action, setAction] = useState<{ readonly kind: ChannelAction; readonly channel: Channel }>();
  const chosen = data?.channels.find(({ id }) => id === query.get("channel"));
  const act: Act | undefined =
    session.role === "admin" ? (kind, channel) => setAction({ kind, channel }) : undefined;
  const done = (said?: string): void => {
    setAction(undefined);
    reload();
    if (said !== undefined) announce(said);
  };
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
          <p>{text.empty}</p>
          <p class="soft">{text.emptyHint}</p>
          <Code code={EXAMPLE} label={text.emptyHint} />
        </div>
      )}
      {data !== undefined && (
        <div class={chosen === undefined ? "" : "with-panel"}>
          <div>
            {data.channels.length > 0 && (
              <ChannelTable channels={data.channels} facts={facts} chosen={chosen?.id} onAct={act} />
            )}
            <dl class="facts section">
              <dt>{text.ledger}</dt>
              <dd>
                <CheckOf state={data.ledger.state} />
              </dd>
              <dt>{text.store}</dt>
              <dd>
                <CheckOf state={data.store.state} />
              </dd>
            </dl>
          </div>
          {chosen !== undefined && (
            <ChannelPanel
              key={chosen.id}
              channel={chosen}
              facts={facts?.get(chosen.id)}
              onAct={act}
              onClose={() => go(addressOf("channels"))}
            />
          )}
        </div>
      )}
      {action?.kind === "pause" && (
        <PauseDialog
          id={action.channel.id}
          onClose={() => setAction(undefined)}
          onDone={() => done(text.paused(action.channel.id))}
        />
      )}
      {action?.kind === "resume" && (
        <ResumeDialog
          id={action.channel.id}
          onClose={() => setAction(undefined)}
          onDone={() => done(text.resumed(action.channel.id))}
        />
      )}
      {action?.kind === "probe" && <ProbeDialog channel={action.channel} onClose={() => done()} />}
    </>
  );
}

/** The last check of the ledger or the admission store. */
function CheckOf({ state }: { readonly state: "ok" | "failing" | "unknown" }) {
  const { channels: text } = useMessages();
  const tones = { ok: "good", failing: "bad", unknown: "none" } as const;
  return <Status tone={tones[state]}>{text.health[state] ?? state}</Status>;
}
