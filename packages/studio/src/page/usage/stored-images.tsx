import type { StoredImages as Images, UsageRecord } from "../../wire.js";
import { BASE, call } from "../api.js";
import { ErrorText } from "../components/feedback.js";
import { Icon } from "../components/icon.js";
import { formatBytes } from "../format.js";
import { useMessages } from "../messages/index.js";
import { useData } from "../use-data.js";

/** The images of a request that `results` has stored, or why they cannot be seen. */
export function StoredImages({ record: { id, time } }: { readonly record: UsageRecord }) {
  const { usage: text, language } = useMessages();
  const path = `requests/${encodeURIComponent(id)}/images`;
  const near = `?near=${encodeURIComponent(time)}`;
  const { data, error } = useData(path, (signal) => call<Images>(`${path}${near}`, { signal }));
  const images = data?.images ?? [];
  return (
    <section class="section">
      <h3>{text.storedImages}</h3>
      {error !== undefined && <ErrorText error={error} />}
      <ul class="thumbnails">
        {images.map(({ id: image, state, byteLength = 0, hasThumbnail = false }, index) => {
          const address = `${BASE}/api/${path}/${image}${near}`;
          return (
            <li key={image}>
              {state === "stored" ? (
                <a href={address} target="_blank" rel="noreferrer">
                  {hasThumbnail && <img src={address} alt="" loading="lazy" width="96" height="96" />}
                  {text.openImage(index + 1)} <Icon name="open" />
                </a>
              ) : (
                text.openImage(index + 1)
              )}
              <span class="soft">
                {state === "stored" ? formatBytes(byteLength, language) : text.imageStates[state]}
              </span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
