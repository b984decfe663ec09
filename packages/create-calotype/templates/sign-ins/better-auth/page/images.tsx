"use client";

import { CalotypeError, createClient, type Model } from "@calotype/client";
import { useImages } from "@calotype/react";
import { type FormEvent, useEffect, useState } from "react";
import { useUser } from "./sign-in.tsx";

// The gateway of this app. The browser sends the cookie of the user.
const client = createClient({ baseUrl: "/" });

const COUNTS = [1, 2, 3, 4];

interface Order {
  readonly model: string;
  readonly prompt: string;
  readonly count: number;
}

/** A form, and the images that it makes. The keys of the storage have the user's id: another user of this browser has other images. */
export function Images({ userId }: { readonly userId: string }) {
  const { models, problem } = useModels();
  const [order, setOrder] = useStoredOrder(`order-${userId}`);
  const { status, images, failures, error, generate, abort } = useImages({
    client,
    storageKey: `images-${userId}`,
  });
  const model = models.find(({ id }) => id === order.model) ?? models[0];
  const isBusy = status === "queued" || status === "running";
  const budget = useBudget(isBusy);
  const missing = isBusy ? Math.max(0, order.count - images.length - failures.length) : 0;

  // If the session has ended, the page shows the form to sign in.
  const { refetch } = useUser();
  useEffect(() => {
    if (error instanceof CalotypeError && error.code === "not_signed_in") void refetch();
  }, [error, refetch]);

  const make = (event: FormEvent): void => {
    event.preventDefault();
    if (model === undefined) return;
    // Of a model that makes one image per call, the images arrive one after another.
    generate({ model: model.id, prompt: order.prompt, n: order.count, response_format: "url" });
  };

  return (
    <main className="studio">
      <form onSubmit={make}>
        <label>
          Prompt
          <textarea
            name="prompt"
            rows={4}
            required
            disabled={isBusy}
            value={order.prompt}
            onChange={({ target }) => setOrder({ ...order, prompt: target.value })}
          />
        </label>
        <label>
          Model
          <select
            name="model"
            disabled={isBusy}
            value={model?.id}
            onChange={({ target }) => setOrder({ ...order, model: target.value })}
          >
            {models.map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
        <fieldset disabled={isBusy}>
          <legend>Images</legend>
          {COUNTS.map((count) => (
            <label key={count}>
              <input
                type="radio"
                name="count"
                checked={order.count === count}
                onChange={() => setOrder({ ...order, count })}
              />
              {count}
            </label>
          ))}
        </fieldset>
        {/* Two keys: one element that becomes the other would submit the form with the click on "Stop". */}
        {isBusy ? (
          <button key="stop" type="button" onClick={abort}>
            Stop
          </button>
        ) : (
          <button key="make" type="submit" className="primary" disabled={model === undefined}>
            Make {toImages(order.count)}
          </button>
        )}
        {budget && (
          <p className="budget">
            Spent this month: {budget.settled}. Left: {budget.left}.
          </p>
        )}
      </form>
      <section>
        <div role="status">
          {status === "queued" && "Waiting for the provider …"}
          {status === "running" && `${images.length} of ${toImages(order.count)}`}
          {status === "done" && `${toImages(images.length)} made`}
          {status === "idle" &&
            (images.length === 0
              ? "Your images appear here, one after another."
              : "Stopped. The images that were ordered are still made and charged.")}
          {isBusy && <progress max={order.count} value={images.length} aria-label="Images so far" />}
        </div>
        {(error ?? problem) && <p role="alert">{(error ?? problem)?.message}</p>}
        {failures.map(({ index, message }) => (
          <p key={index} role="alert">
            Image {index + 1} failed: {message}
          </p>
        ))}
        <ul className="images">
          {images.map(({ url }, index) => (
            <li key={url}>
              <a href={url} target="_blank" rel="noreferrer">
                <img src={url} alt={`${order.prompt}, image ${index + 1}`} />
              </a>
            </li>
          ))}
          {Array.from({ length: missing }, (_, index) => (
            <li key={index} className="missing" />
          ))}
        </ul>
      </section>
    </main>
  );
}

/** The models that make images without reference images. */
function useModels() {
  const [models, setModels] = useState<readonly Model[]>([]);
  const [problem, setProblem] = useState<Error>();
  useEffect(() => {
    client
      .models()
      .then((all) => setModels(all.filter(({ capabilities }) => !capabilities.references?.min)), setProblem);
  }, []);
  return { models, problem };
}

/** What the user has spent and what is left, read again after each request. */
function useBudget(isBusy: boolean) {
  const [budget, setBudget] = useState<{ readonly settled: string; readonly left: string }>();
  useEffect(() => {
    if (isBusy) return;
    fetch("/api/auth/budget")
      .then((response) => (response.ok ? response.json() : undefined))
      .then(setBudget, console.error);
  }, [isBusy]);
  return budget;
}

/** What the form asks for. It is stored, because a page that finds its images again after a reload also shows what they are. */
function useStoredOrder(key: string) {
  const [order, setOrder] = useState<Order>({
    model: "",
    prompt: "A lighthouse at dusk, seen from the sea",
    count: 4,
  });
  useEffect(() => {
    const stored = sessionStorage.getItem(key);
    if (stored !== null) setOrder(JSON.parse(stored));
  }, [key]);
  const change = (next: Order): void => {
    sessionStorage.setItem(key, JSON.stringify(next));
    setOrder(next);
  };
  return [order, change] as const;
}

function toImages(count: number): string {
  return count === 1 ? "1 image" : `${count} images`;
}
