import type { AttemptCounts } from "../../wire.js";
import { useMessages } from "../messages/index.js";

const STEP = 8;
const HEIGHT = 24;

/** The attempts of the last hour as small bars, the failed ones below, with the sums in words. */
export function LastHour({ parts }: { readonly parts: readonly AttemptCounts[] }) {
  const { channels: text } = useMessages();
  const attempts = parts.reduce((sum, part) => sum + part.attempts, 0);
  const failures = parts.reduce((sum, part) => sum + part.failures, 0);
  const highest = Math.max(1, ...parts.map((part) => part.attempts));
  // Low bars are still to be seen.
  const heightOf = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / highest) * HEIGHT));
  return (
    <span class="last-hour">
      <svg viewBox={`0 0 ${parts.length * STEP} ${HEIGHT}`} aria-hidden="true">
        {parts.map((part, index) => (
          <g key={part.from}>
            <rect class="floor" x={index * STEP} y={HEIGHT - 1} width={STEP - 2} height={1} />
            <rect
              x={index * STEP}
              y={HEIGHT - heightOf(part.attempts)}
              width={STEP - 2}
              height={heightOf(part.attempts)}
            />
            <rect
              class="failed"
              x={index * STEP}
              y={HEIGHT - heightOf(part.failures)}
              width={STEP - 2}
              height={heightOf(part.failures)}
            />
          </g>
        ))}
      </svg>
      <span class="small soft">{text.counts(attempts, failures)}</span>
    </span>
  );
}

/** The same as a table, for those who need the numbers. */
export function LastHourTable({ parts }: { readonly parts: readonly AttemptCounts[] }) {
  const { channels: text, language } = useMessages();
  const format = new Intl.DateTimeFormat(language, { hour: "numeric", minute: "2-digit" });
  return (
    <details>
      <summary>{text.asTable}</summary>
      <table>
        <thead>
          <tr>
            <th>{text.time}</th>
            <th class="number">{text.attempts}</th>
            <th class="number">{text.failures}</th>
          </tr>
        </thead>
        <tbody>
          {parts.map(({ from, attempts, failures }) => (
            <tr key={from}>
              <td>{format.format(new Date(from))}</td>
              <td class="number">{attempts}</td>
              <td class="number">{failures}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
