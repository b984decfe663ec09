import { useState } from "preact/hooks";
import type { StoredImages as Images, UsageRecord } from "../../wire.js";
import { BASE, call } from "../api.js";
import { ErrorText } from "../components/feedback.js";
import { Icon } from "../components/icon.js";
import { formatBytes } from "../format.js";
import { useMessages } from "../messages/index.js";
import { useData } from "../use-data.js";

/** The images of a request that `results` has stored, or why they cannot be seen. */
export function StoredImages({ record: { id, time } }: { readonly record: UsageRecord }) {
  const { usage: text } = useMessages();
  const path = `requests/${encodeURIComponent(id)}/images`;
  const near = `?near=${encodeURIComponent(time)}`;
  const { data, error } = useData(path, (signal) => call<Images>(`${path}${near}`, { signal }));
  const images = data?.images ?? [];
  return (
    <section class="section">
      <h3>{text.storedImages}</h3>
      {error !== undefined && <ErrorText error={error} />}
      <ul class="thumbnails">
        {images.map((image, index) => (
          <li key={image.id}>
            {image.state === "stored" ? (
              <StoredImage image={image} index={index} address={`${BASE}/api/${path}/${image.id}${near}`} />
            ) : (
              <>
                {text.openImage(index + 1)}
                <span class="soft">{text.imageStates[image.state]}</span>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** An image with its size in pixels, which is known when its thumbnail has come. */
function StoredImage({
  image: { byteLength = 0, hasThumbnail = false },
  index,
  address,
}: {
  readonly image: Images["images"][number];
  readonly index: number;
  readonly address: string;
}) {
  const { usage: text, language } = useMessages();
  const [pixels, setPixels] = useState("");
  return (
    <>
      <a href={address} target="_blank" rel="noreferrer">
        {hasThumbnail && (
          <img
            src={address}
            alt=""
            loading="lazy"
            width="96"
            height="96"
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
              setPixels(`${naturalWidth} × ${naturalHeight}`)
            }
          />
        )}
        {text.openImage(index + 1)} <Icon name="open" />
      </a>
      <span class="soft">{pixels}</span>
      <span class="soft">{formatBytes(byteLength, language)}</span>
    </>
  );
}
