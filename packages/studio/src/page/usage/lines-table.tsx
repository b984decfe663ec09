import { useState } from "preact/hooks";
import type { UsageLine, UsageReport, UsageSums } from "../../wire.js";
import { TextField } from "../components/field.js";
import { formatCount } from "../format.js";
import { useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { showMedian, showRate } from "./figures.js";
import { addressOfSelection, DIMENSIONS, goTo, type Selection, withFilter } from "./selection.js";

/** The usage of each caller, model, channel, end user or value of a tag. Selecting a line filters the view. */
export function LinesTable({
  selection,
  report,
}: {
  readonly selection: Selection;
  readonly report: UsageReport | undefined;
}) {
  const { usage: text } = useMessages();
  const { by, tagKey } = selection;
  return (
    <section class="section">
      <div class="segments" role="group" aria-label={text.by}>
        {DIMENSIONS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={by === each ? "true" : "false"}
            onClick={() => goTo({ ...selection, by: each })}
          >
            {text.dimensions[each]}
          </button>
        ))}
      </div>
      {by === "tag" && (
        <TagForm key={tagKey} tagKey={tagKey} onShow={(key) => goTo({ ...selection, tagKey: key })} />
      )}
      {report !== undefined && (by !== "tag" || tagKey !== "") && (
        <Table selection={selection} report={report} />
      )}
    </section>
  );
}

function TagForm({ tagKey, onShow }: { readonly tagKey: string; readonly onShow: (tagKey: string) => void }) {
  const { usage: text } = useMessages();
  const [entered, setEntered] = useState(tagKey);
  return (
    <form
      class="row narrow"
      onSubmit={(event) => {
        event.preventDefault();
        onShow(entered.trim());
      }}
    >
      <TextField label={text.tagKey} hint={text.tagKeyHint} value={entered} onValue={setEntered} />
      <div>
        <button type="submit" class="button">
          {text.show}
        </button>
      </div>
    </form>
  );
}

function Table({ selection, report }: { readonly selection: Selection; readonly report: UsageReport }) {
  const { usage: text } = useMessages();
  const { by } = selection;
  const { lines, others } = report.series;
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.dimensions[by]}>
      <table>
        <thead>
          <tr>
            <th>{text.dimensions[by]}</th>
            <th class="number">{text.spend}</th>
            <th class="number">{text.images}</th>
            <th class="number">{text.requests}</th>
            <th class="number">{text.failureRate}</th>
            <th class="number">{text.medianTime}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line key={line.key} line={line} selection={selection} />
          ))}
          {others !== undefined && (
            <tr>
              <td class="soft">{text.others(others.count)}</td>
              <SumCells sums={others.sums} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function Line({
  line: { key, sums },
  selection,
}: {
  readonly line: UsageLine;
  readonly selection: Selection;
}) {
  const { usage: text } = useMessages();
  const { by, tagKey, filters } = selection;
  const value = by === "tag" ? `${tagKey}=${key}` : key;
  const isChosen = filters[by] === value;
  return (
    <tr class={isChosen ? "chosen" : undefined}>
      <td class="wrap">
        {key === "" ? (
          <span class="soft">{text.unnamed}</span>
        ) : (
          <a
            href={addressOfSelection(withFilter(selection, by, isChosen ? undefined : value))}
            onClick={followLink}
            aria-current={isChosen ? "true" : undefined}
          >
            {key}
          </a>
        )}
      </td>
      <SumCells sums={sums} />
    </tr>
  );
}

function SumCells({ sums }: { readonly sums: UsageSums }) {
  const messages = useMessages();
  return (
    <>
      <td class="number">{sums.charge}</td>
      <td class="number">{formatCount(sums.images, messages.language)}</td>
      <td class="number">{formatCount(sums.requests, messages.language)}</td>
      <td class="number">{showRate(sums, messages)}</td>
      <td class="number">{showMedian(sums, messages)}</td>
    </>
  );
}
