import { type Feature, GatewayError } from "@calotype/core/compose";

/** Refuses prompts that contain one of these words, and shows how many it has refused at `GET {base}/v1/refused`. */
export function wordList(words: readonly string[]): Feature {
  let refused = 0;
  return {
    name: "word-list",
    setup: ({ logger }) => ({
      beforeSend({ prompt }, caller) {
        const found = words.find((word) => prompt.toLowerCase().includes(word));
        if (found === undefined) return;
        refused++;
        logger.warn({ caller: caller.id, word: found }, "A prompt was refused.");
        throw new GatewayError("request_refused", `The prompt contains the word ${found}.`);
      },
      routes: ({ respond }) => [
        {
          pattern: /^(.*?)\/v1\/refused$/,
          respond: (request) =>
            respond(request, async () => ({
              status: 200,
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ refused }),
            })),
        },
      ],
    }),
  };
}
