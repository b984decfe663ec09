import type { CallerRow, LimitStatus } from "../../wire.js";
import { Status } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";

/** A budget or a limit of which this part is used is nearly used up. The server counts with the same number. */
const NEAR = 0.8;

/** How much of a budget is charged and held, in words and as a bar. The exact amounts stand beside it. */
export function BudgetUse({ caller: { spent, share } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  if (spent?.limit === undefined || share === undefined)
    return <span class="soft">{text.noBudgetShort}</span>;
  const words = text.used(toPercent(share));
  return (
    <span class="use">
      <Bar parts={[Number(spent.settled), Number(spent.held)]} whole={Number(spent.limit)} />
      {spent.left === "0" ? (
        <Status tone="bad">{text.nothingLeft}</Status>
      ) : share >= NEAR ? (
        <Status tone="warn">{words}</Status>
      ) : (
        <span class="small">{words}</span>
      )}
    </span>
  );
}

/** The limit of a caller that is closest to its end. */
export function TightestLimit({ caller: { state, limitStates } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  if (state === "user") return <span class="soft">–</span>;
  if (limitStates === undefined) return <span class="soft">{text.limitsUnread}</span>;
  if (limitStates === null) return <span class="soft">{text.limitsUnknown}</span>;
  const tightest = limitStates.toSorted((one, other) => partOf(other) - partOf(one))[0];
  return tightest === undefined ? <span class="soft">{text.noLimits}</span> : <LimitWords limit={tightest} />;
}

/** Each limit of a caller with what is used of it, and when its window ends. */
export function LimitList({ limits }: { readonly limits: readonly LimitStatus[] }) {
  const { callers: text } = useMessages();
  return (
    <ul class="limit-list">
      {limits.map((limit) => (
        <li key={`${limit.name} ${limit.model}`}>
          {limit.model !== undefined && <code class="wrap">{limit.model}</code>}
          <span class="use">
            <Bar parts={[limit.used]} whole={limit.limit} />
            <LimitWords limit={limit} />
          </span>
          {limit.resetsAt !== undefined && limit.used > 0 && (
            <span class="small soft">
              {text.freeIn(Math.max(1, Math.ceil((limit.resetsAt - Date.now()) / 1000)))}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function LimitWords({ limit }: { readonly limit: LimitStatus }) {
  const { callers: text } = useMessages();
  const { name, used, limit: most, remaining } = limit;
  const words = text.limitUse[name](used, most);
  if (remaining === 0) {
    return (
      <Status tone="bad">
        {words} · {text.limitReached}
      </Status>
    );
  }
  return partOf(limit) >= NEAR ? <Status tone="warn">{words}</Status> : <span class="small">{words}</span>;
}

const partOf = ({ used, limit }: LimitStatus): number => used / limit;

/** Rounded down, so that it is 100 only if nothing is left. */
function toPercent(share: number): number {
  return Math.floor(share * 100);
}

/** The first part is charged, the second is held. */
function Bar({ parts, whole }: { readonly parts: readonly number[]; readonly whole: number }) {
  const [first = 0, second = 0] = parts.map((part) => (whole === 0 ? 1 : part / whole));
  const spent = Math.min(1, first);
  const held = Math.min(1 - spent, second);
  const tone = spent + held >= 1 ? "bar full" : spent + held >= NEAR ? "bar near" : "bar";
  return (
    <svg class={tone} viewBox="0 0 96 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="96" height="4" />
      <rect class="spent" width={spent * 96} height="4" />
      <rect class="held" x={spent * 96} width={held * 96} height="4" />
    </svg>
  );
}
