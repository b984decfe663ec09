import type { RefusalList } from "../../wire.js";
import { Failure, Loading, Status } from "../components/feedback.js";
import { ListTable } from "../components/list-table.js";
import { formatCount, formatShortTime, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import type { Loaded } from "../use-data.js";
import { addressOfSelection, type Selection } from "./selection.js";

/** How many refusals of the newest are listed. */
export const MAX_LISTED = 200;
/** How many refusals a ledger keeps of one caller, and of those without one. */
const KEPT_OF_CALLER = 1_000;

/** The number of requests that were refused before they reached a provider. */
export function countRefused({ counts }: Pick<RefusalList, "counts">): number {
  return counts.reduce((sum, { requests }) => sum + requests, 0);
}

/** The requests that were refused before they reached a provider: how many of each reason, and single ones. */
export function RefusedTable({
  refused: { data, error, reload },
  selection,
}: {
  readonly refused: Loaded<RefusalList>;
  readonly selection: Selection;
}) {
  const { usage: text, language } = useMessages();
  if (data === undefined)
    return error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />;
  const { refusals, counts } = data;
  if (refusals.length === 0) return <p class="soft">{text.noneRefused}</p>;
  return (
    <>
      <ul class="legend">
        {counts.map(({ status, code, requests }) => (
          <li key={`${status} ${code}`}>
            <Status tone="warn">
              {status} {code}
            </Status>
            <span class="number">{formatCount(requests, language)}</span>
          </li>
        ))}
      </ul>
      <ListTable
        label={text.refusedBefore}
        kind="requests"
        columns={[
          text.time,
          text.requestId,
          text.result,
          [text.dimensions.caller, "near"],
          [text.dimensions.model, "next"],
          [text.field, "aside"],
          [text.limit, "aside"],
        ]}
      >
        <tbody>
          {refusals.map(({ id, time, status, code, caller = "", model = "", param = "", limit = "" }) => (
            <tr key={id} class={id === selection.request ? "chosen" : undefined}>
              <td class="fixed" title={time}>
                {formatShortTime(time, language)}
              </td>
              <td class="fixed">
                <a
                  class="mono"
                  title={id}
                  href={addressOfSelection({ ...selection, request: id })}
                  onClick={followLink}
                >
                  {shorten(id, 15)}
                </a>
              </td>
              <td class="whole" data-label={text.result}>
                <Status tone="warn">
                  {status} {code}
                </Status>
              </td>
              <Name label={text.dimensions.caller} name={caller} room="near" />
              <Name label={text.dimensions.model} name={model} room="next" />
              <Name label={text.field} name={param} />
              <Name label={text.limit} name={limit} />
            </tr>
          ))}
        </tbody>
      </ListTable>
      {countRefused(data) > refusals.length && (
        <p class="small soft">{text.newestOf(formatCount(refusals.length, language))}</p>
      )}
      {countRefused(data) >= KEPT_OF_CALLER && <p class="small soft">{text.keptRefusals}</p>}
    </>
  );
}

function Name({
  label,
  name,
  room = "aside",
}: {
  readonly label: string;
  readonly name: string;
  /** Beside a panel, which columns there is room for. */
  readonly room?: "near" | "next" | "aside";
}) {
  return (
    <td class={`wrap ${room}`} data-label={label}>
      {name !== "" && <bdi>{name}</bdi>}
    </td>
  );
}
