import type { ModelDetails, PriceTables } from "../../wire.js";
import { ListTable } from "../components/list-table.js";
import { formatCount } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";

/** The prices that are in effect, each in words. */
export function PriceTable({ tables }: { readonly tables: PriceTables }) {
  const messages = useMessages();
  const text = messages.prices;
  return (
    <div>
      <ListTable label={messages.views.prices} columns={[text.model, text.mode, text.price]}>
        <tbody>
          {Object.entries(tables.model_details).map(([model, details]) => (
            <tr key={model}>
              <td class="wrap">
                <div>
                  {model}
                  {model.endsWith("*") && model !== "*" && (
                    <div class="small soft">{text.series(model.slice(0, -1))}</div>
                  )}
                </div>
              </td>
              <td class="whole" data-label={text.mode}>
                {text.modes[details.pricing_mode]}
              </td>
              <td class="whole" data-label={text.price}>
                <div>
                  {describePrice(details, messages).map((line) => (
                    <div key={line}>{line}</div>
                  ))}
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </ListTable>
      <section class="section">
        <h2>{text.groups}</h2>
        <p class="soft">{text.groupsHint}</p>
        <table>
          <thead>
            <tr>
              <th>{text.group}</th>
              <th class="number">{text.ratio}</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(tables.group_ratio ?? {}).map(([group, ratio]) => (
              <tr key={group}>
                <td class="wrap">{group}</td>
                <td class="number">{String(ratio)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

/** A price in words, one line for each amount. */
function describePrice(details: ModelDetails, messages: Messages): readonly string[] {
  const { fields } = messages.prices;
  return Object.entries(details).flatMap(([name, value]) => {
    const write = fields[name];
    if (write === undefined || value === undefined) return [];
    return Array.isArray(value) ? describeTiers(value, write, messages) : [write(String(value))];
  });
}

interface Tier {
  readonly up_to_pixels?: number;
  readonly price: unknown;
  readonly quality?: string;
}

/** A list of one tier applies to every size. */
function describeTiers(
  tiers: readonly Tier[],
  write: (price: string) => string,
  { prices: { tiers: text }, language }: Messages,
): readonly string[] {
  return tiers.map(({ up_to_pixels, price, quality }) => {
    const amount = write(String(price));
    const isOnly = !tiers.some((other) => other.quality === quality && other.up_to_pixels !== undefined);
    const shown =
      up_to_pixels === undefined
        ? isOnly
          ? amount
          : text.above(amount)
        : text.upTo(formatCount(up_to_pixels, language), amount);
    return quality === undefined ? shown : text.quality(quality, shown);
  });
}
