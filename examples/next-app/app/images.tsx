"use client";

import { createClient } from "@calotype/client";
import { useImages } from "@calotype/react";
import { useRouter } from "next/navigation";
import { type FormEvent, useEffect, useState } from "react";

// The gateway of this app. The browser sends the cookie of the user.
const client = createClient({ baseUrl: "/" });

const COUNTS = [1, 2, 3, 4];

interface Order {
  readonly prompt: string;
  readonly count: number;
}

/** A form, and the images that it makes. The keys of the storage have the user's id: another user of this browser has other images. */
export function Images({ userId }: { readonly userId: string }) {
  const [order, setOrder] = useStoredOrder(`order-${userId}`);
  const { status, images, failures, error, generate, abort } = useImages({
    client,
    storageKey: `images-${userId}`,
  });
  const isBusy = status === "queued" || status === "running";
  const missing = isBusy ? order.count - images.length - failures.length : 0;

  // The server shows what was spent, and the form to sign in if the session has ended.
  const router = useRouter();
  useEffect(() => router.refresh(), [router, status]);

  const make = (event: FormEvent): void => {
    event.preventDefault();
    const { prompt, count: n } = order;
    // This model makes one image per call, so the images of a task arrive one after another.
    generate({ model: "seedream-5-0-flash-260915", prompt, n, size: "2048x2048", watermark: false });
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
          <button key="make" type="submit" className="primary">
            Make {toImages(order.count)}
          </button>
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
        {error && <p role="alert">{error.message}</p>}
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

/** What the form asks for. It is stored, because a page that finds its images again after a reload also shows what they are. */
function useStoredOrder(key: string) {
  const [order, setOrder] = useState<Order>({ prompt: "A lighthouse at dusk, seen from the sea", count: 4 });
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
