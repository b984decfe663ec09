import { useEffect, useState } from "preact/hooks";
import type { UsageRecord } from "../../wire.js";
import type { ApiError } from "../api.js";
import { Derivation } from "../components/derivation.js";
import { CopyButton, ErrorText } from "../components/feedback.js";
import { useUnits, withUnit } from "../currency.js";
import { formatAmount, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink, type View } from "../router.js";
import example from "./example.svg";
import type { MadeImage, Run, RunCharge } from "./run.js";
import { readPixels } from "./sizes.js";

/** The runs, the newest first. Runs that were started together stand side by side. */
export function Results({ groups }: { readonly groups: readonly (readonly Run[])[] }) {
  const { try: text } = useMessages();
  if (groups.length === 0) {
    return (
      <figure class="image example">
        <img src={example} width={800} height={450} alt={text.imageAlt(1, text.examplePrompt)} />
        <figcaption>{text.emptyHint}</figcaption>
      </figure>
    );
  }
  return (
    <>
      {groups.map((group) => (
        <div class="run-pair" key={group[0]?.id}>
          {group.map((run) => (
            <RunResult key={run.id} run={run} />
          ))}
        </div>
      ))}
    </>
  );
}

function RunResult({ run }: { readonly run: Run }) {
  const { try: text } = useMessages();
  const isRunning = run.duration === undefined;
  const missing = isRunning ? Math.max(0, run.asked - run.images.length) : 0;
  return (
    <article class="run" aria-label={run.model}>
      <div class="run-head">
        <h2 class="wrap">{run.model}</h2>
        <RunProgress run={run} />
        <div role="status">{isBrief(run.charge) && <ChargeOf charge={run.charge} />}</div>
      </div>
      <div class={run.images.length + missing === 1 ? "images one" : "images"}>
        {run.images.map((image, index) => (
          <ImageFigure key={image.url} image={image} index={index} prompt={run.prompt} />
        ))}
        {Array.from({ length: missing }, (_, index) => (
          <Placeholder key={index} size={run.pixels} />
        ))}
      </div>
      {run.error !== undefined && <RunError error={run.error} charge={run.charge} />}
      {run.imageErrors.length > 0 && (
        <div class="notice bad" role="alert">
          <p>{text.partlyFailed(run.imageErrors.length)}</p>
          <ul>
            {run.imageErrors.map(({ code, message }, index) => (
              <li key={index} class="wrap">
                {message} <code>{code}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
      <div role="status">
        {run.isStopped === true && <p class="notice">{text.stopped}</p>}
        {run.error === undefined && run.charge !== undefined && !isBrief(run.charge) && (
          <ChargeOf charge={run.charge} />
        )}
      </div>
      {typeof run.charge === "object" && <HowCharged record={run.charge} />}
      {run.requestId !== undefined && (
        <p class="small soft">
          {text.requestId}{" "}
          <a
            class="mono"
            title={run.requestId}
            href={addressOf("usage", { request: run.requestId })}
            onClick={followLink}
          >
            {shorten(run.requestId, 24)}
          </a>{" "}
          <CopyButton text={run.requestId} label={text.requestId} />
        </p>
      )}
    </article>
  );
}

/** Where a person does something about an error. */
const PLACES: Readonly<Record<string, View>> = {
  insufficient_quota: "callers",
  rate_limit_exceeded: "callers",
  model_not_priced: "prices",
  model_paused: "channels",
  upstream_rate_limited: "channels",
  upstream_quota_exceeded: "channels",
  upstream_authentication_failed: "channels",
  upstream_unreachable: "channels",
  upstream_timeout: "channels",
};

/** What happened, what was spent, and one thing to do, each once. */
function RunError({ error, charge }: { readonly error: ApiError; readonly charge: RunCharge | undefined }) {
  const { try: text, views } = useMessages();
  const place = PLACES[error.code];
  return (
    <div class="notice bad" role="alert">
      <ErrorText error={error} />
      {typeof charge === "string" && charge !== "reading" && <p>{text.chargeStates[charge]}</p>}
      {place !== undefined && (
        <p>
          <a href={addressOf(place)} onClick={followLink}>
            {views[place]}
          </a>
        </p>
      )}
    </div>
  );
}

/** A charge stands beside the time. What else is to be said about it is a sentence, which comes after the error. */
function isBrief(charge: RunCharge | undefined): charge is "reading" | UsageRecord {
  return charge === "reading" || typeof charge === "object";
}

/** The seconds, and what is happening. Screen readers hear the steps, not the seconds. */
function RunProgress({ run }: { readonly run: Run }) {
  const { try: text } = useMessages();
  const isRunning = run.duration === undefined;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, [isRunning]);
  const elapsed = run.duration ?? Math.max(0, now - run.startedAt);
  const step = isRunning
    ? run.images.length === 0
      ? text.waiting
      : text.imageOf(run.images.length, Math.max(run.asked, run.images.length))
    : run.error === undefined
      ? text.done(run.images.length)
      : text.failed;
  return (
    <p class="soft">
      <span class="number">{text.seconds((elapsed / 1000).toFixed(1))}</span> ·{" "}
      <span role="status">{step}</span>
    </p>
  );
}

function ImageFigure({
  image,
  index,
  prompt,
}: {
  readonly image: MadeImage;
  readonly index: number;
  readonly prompt: string;
}) {
  const { try: text } = useMessages();
  const [decoded, setDecoded] = useState<string>();
  // With its size, the place of the image is known before it is decoded.
  const [width, height] = readPixels(image.size) ?? [];
  // Streams in OpenAI's format have "auto" for a size that the provider has not stated.
  const size = image.size === "auto" ? decoded : (image.size ?? decoded);
  return (
    <figure class="image">
      <img
        src={image.url}
        width={width}
        height={height}
        alt={text.imageAlt(index + 1, prompt)}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setDecoded(`${naturalWidth}x${naturalHeight}`)
        }
      />
      <figcaption>
        {size !== undefined && <span>{size.replace("x", " × ")}</span>}
        <a href={image.url} download={`calotype-${index + 1}.${image.extension}`}>
          {text.download}
        </a>
      </figcaption>
    </figure>
  );
}

/** The place that an image will take. A canvas has a size of its own, and shrinks as an image does. */
function Placeholder({ size }: { readonly size: string | undefined }) {
  const [width = DEFAULT_SIDE, height = DEFAULT_SIDE] = readPixels(size) ?? [];
  return <canvas class="placeholder" width={width} height={height} aria-hidden="true" />;
}

const DEFAULT_SIDE = 2048;

function ChargeOf({ charge }: { readonly charge: RunCharge }) {
  const { try: text, usage } = useMessages();
  const { unit, unitOf } = useUnits();
  if (typeof charge === "string") return <p>{text.chargeStates[charge]}</p>;
  if (charge.charge === null) return <p class="soft">{text.priceFree}</p>;
  return (
    <>
      <p class="price">
        {text.charge} <strong>{withUnit(formatAmount(charge.charge), unit ?? unitOf(charge.model))}</strong>
      </p>
      {charge.state !== "settled" && <p class="soft">{usage[charge.state]}</p>}
    </>
  );
}

function HowCharged({ record }: { readonly record: UsageRecord }) {
  const { try: text } = useMessages();
  if (record.state !== "settled" || record.derivation === undefined) return null;
  return (
    <details>
      <summary>{text.howCharged}</summary>
      <Derivation derivation={record.derivation} amount={record.charge ?? record.derivation.exact} />
    </details>
  );
}
