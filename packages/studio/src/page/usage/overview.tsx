import type { ComponentChildren } from "preact";
import type { CallerRows, GatewayStatus, UsageReport } from "../../wire.js";
import { call } from "../api.js";
import { countRecent, useAlerts } from "../callers/alert-list.js";
import { Status } from "../components/feedback.js";
import { useUnits } from "../currency.js";
import { formatCount, formatShort } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { type Loaded, useData } from "../use-data.js";
import { toPeriod } from "./period.js";

const EVERY_SECONDS = 10;

/** What an operator wants to know in the morning: is everything healthy, what was spent yesterday, who is close to a budget. */
export function Overview() {
  const { usage: text } = useMessages();
  return (
    <dl class="overview" aria-label={text.overview}>
      <Health />
      <Yesterday />
      <Budgets />
    </dl>
  );
}

function Health() {
  const { usage: text, channels, views } = useMessages();
  const loaded = useData("overview status", () => call<GatewayStatus>("status"), EVERY_SECONDS);
  return (
    <Fact name={text.health} loaded={loaded} address={addressOf("channels")} more={views.channels}>
      {({ channels: all, ledger, store }) => {
        const others = all.filter(({ state }) => state !== "ready");
        const [failing, ...more] = [
          ...(ledger.state === "failing" ? [text.storeFails(channels.ledger)] : []),
          ...(store.state === "failing" ? [text.storeFails(channels.store)] : []),
        ];
        const ready =
          others.length === 0
            ? text.allReady(all.length)
            : text.someReady(all.length - others.length, all.length);
        const isDown = failing !== undefined || (all.length > 0 && others.length === all.length);
        return (
          <>
            <Status tone={isDown ? "bad" : others.length > 0 ? "warn" : "good"}>{failing ?? ready}</Status>
            <Names
              names={[
                ...more,
                ...(failing === undefined ? [] : [ready]),
                ...others.map(({ id, state }) => `${id}: ${channels.states[state]}`),
              ]}
            />
          </>
        );
      }}
    </Fact>
  );
}

function Yesterday() {
  const { usage: text, language } = useMessages();
  const { unit } = useUnits();
  const period = toPeriod("yesterday", Date.now());
  const { from, to, bucket, timeZone } = period;
  const search = new URLSearchParams({ from, to, bucket, timeZone }).toString();
  const loaded = useData(`overview ${search}`, (signal) => call<UsageReport>(`usage?${search}`, { signal }));
  return (
    <Fact
      name={text.periods.yesterday}
      loaded={loaded}
      address={addressOf("usage", { period: "yesterday" })}
      more={text.show}
    >
      {({ series: { total }, charges = [{ currency: unit ?? "", charge: total.sums.charge }] }) => (
        <>
          {charges.map(({ currency, charge }) => (
            <strong key={currency} class="spent" title={charge}>
              {formatShort(charge)}
              {currency !== "" && <span class="small"> {currency}</span>}
            </strong>
          ))}
          <span class="small soft">
            {text.imageCount(formatCount(total.sums.images, language))} ·{" "}
            {text.requestCount(formatCount(total.sums.requests, language))}
          </span>
        </>
      )}
    </Fact>
  );
}

/** Callers are named from this part on, a little before the summary of the server counts them. */
const NAMED = 0.7;
const MAX_NAMES = 3;

function Budgets() {
  const { usage: text, callers, views, language } = useMessages();
  const percent = new Intl.NumberFormat(language, { style: "percent", roundingMode: "trunc" });
  const { data: { alerts } = { alerts: [] } } = useAlerts();
  const recent = countRecent(alerts);
  const loaded = useData("overview callers", () => call<CallerRows>("callers"), EVERY_SECONDS);
  return (
    <Fact name={text.budgets} loaded={loaded} address={addressOf("callers")} more={views.callers}>
      {({ callers: rows, summary: { near, empty }, hasUsers }) => (
        <>
          <Status tone={empty > 0 ? "bad" : near > 0 ? "warn" : "good"}>
            {near + empty === 0 ? text.noneNear : text.someNear(near + empty)}
          </Status>
          <Names
            names={rows
              .filter(({ share = 0 }) => share >= NAMED)
              .slice(0, MAX_NAMES)
              .map(({ id, share = 0 }) => `${id} ${percent.format(share)}`)}
          />
          {!hasUsers && <span class="small soft">{callers.noUsersShort}</span>}
          {recent > 0 && <span class="small soft">{callers.alertCount(formatCount(recent, language))}</span>}
        </>
      )}
    </Fact>
  );
}

function Names({ names }: { readonly names: readonly string[] }) {
  return names.length === 0 ? null : <span class="small wrap">{names.join(", ")}</span>;
}

/** One answer, with the way to its details. While it is not known, its place is kept. */
function Fact<T>({
  name,
  loaded: { data, error },
  address,
  more,
  children,
}: {
  readonly name: string;
  readonly loaded: Loaded<T>;
  readonly address: string;
  readonly more: string;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { usage: text } = useMessages();
  return (
    <div>
      <dt>
        {name}{" "}
        <a class="small" href={address} onClick={followLink}>
          {more}
        </a>
      </dt>
      <dd aria-live="polite">
        {data !== undefined ? (
          children(data)
        ) : error === undefined || error.code === "no_totals" ? (
          <span class="small soft">{error === undefined ? "…" : "–"}</span>
        ) : (
          <Status tone="bad">{text.unread}</Status>
        )}
      </dd>
    </div>
  );
}
