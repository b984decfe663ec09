import type { PriceView } from "../../wire.js";
import { call } from "../api.js";
import { Code, Failure, Loading, StaleNote } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";
import { Calculator } from "../prices/calculator.js";
import { PriceTable } from "../prices/price-table.js";
import { RepriceForm } from "../prices/reprice-form.js";
import { goToPrices, readPriceSelection } from "../prices/selection.js";
import { useData } from "../use-data.js";

const EXAMPLE = `billing: {
  model_details: {
    "seedream-4-5": {
      pricing_mode: "per-request",
      model_price: "0.25",
    },
  },
}`;

/** The prices that are in effect now, what a request costs by them, and what a period would have cost by others. */
export function PricesView({ query }: { readonly query: URLSearchParams }) {
  const messages = useMessages();
  const { data, error, reload } = useData("prices", () => call<PriceView>("prices"));
  const selection = readPriceSelection(query);
  return (
    <>
      <div class="view-head">
        <h1>{messages.views.prices}</h1>
      </div>
      {data === undefined && error === undefined && <Loading />}
      {data === undefined && error !== undefined && <Failure error={error} onRetry={reload} />}
      {data !== undefined && <StaleNote error={error} />}
      {data?.tables === null && (
        <div class="empty">
          <p>{messages.prices.none}</p>
          <p class="soft">{messages.prices.noneHint}</p>
          <Code code={EXAMPLE} label={messages.prices.noneHint} />
        </div>
      )}
      {data !== undefined && data.tables !== null && (
        <>
          <div class="columns">
            <PriceTable tables={data.tables} />
            <Calculator
              view={data}
              tables={data.tables}
              model={selection.model}
              onModel={(model) => goToPrices({ ...selection, model })}
            />
          </div>
          <RepriceForm tables={data.tables} selection={selection} />
        </>
      )}
    </>
  );
}
