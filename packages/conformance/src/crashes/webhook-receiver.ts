import { text } from "node:stream/consumers";
import { listen } from "../support/listen.ts";

/** A webhook that arrived. */
export interface Delivery {
  /** The header `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** Whether the receiver accepted it. */
  readonly isAccepted: boolean;
}

/** The server of a caller that is told the end of its tasks. */
export interface WebhookReceiver {
  readonly url: string;
  /** In the order of their arrival. */
  readonly deliveries: readonly Delivery[];
  readonly close: () => Promise<void>;
}

/** The share of the messages that are refused once. */
const REFUSED = 0.1;

/** Starts a receiver that refuses some messages once, so that they are sent again. */
export async function startWebhookReceiver(random: () => number): Promise<WebhookReceiver> {
  const deliveries: Delivery[] = [];
  const { url, close } = await listen((request, response) => {
    const read = async (): Promise<void> => {
      const body = await text(request);
      const id = String(request.headers["webhook-id"]);
      const isAccepted = random() >= REFUSED || deliveries.some((earlier) => earlier.id === id);
      deliveries.push({ id, body, isAccepted });
      response.writeHead(isAccepted ? 204 : 500).end();
    };
    // The sender may be killed while it sends.
    read().catch(() => response.destroy());
  });
  return { url, deliveries, close };
}
