import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { ClientSecretCredential, getBearerTokenProvider } from "@azure/identity";
import { createGateway, type GatewayOptions, type SettledRecord } from "@calotype/core";
import { gemini, vertex } from "@calotype/core/families/gemini";
import { openai } from "@calotype/core/families/openai";
import type { KeyFunction } from "@calotype/core/operator";
import { createEmulator } from "@calotype/emulator";
import { toNodeHandler } from "@calotype/node";
import { GoogleAuth, UserRefreshClient } from "google-auth-library";
import OpenAI, { APIError } from "openai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "./support/listen.js";

/*
 * Keys of Google and of Microsoft Entra ID, as their own libraries read them. The token endpoint is on loopback, and a provider
 * that accepts each token for its time only.
 */

const CALLER_KEY = "caller-key-of-the-key-functions";

/** How a token endpoint responds. */
type Behaviour = "token" | "garbage" | "failure" | "silence";

class TokenService {
  behaviour: Behaviour = "token";
  lifetimeSeconds = 3_600;
  /** The tokens that were issued, the newest last. */
  readonly tokens: string[] = [];
  readonly #validUntil = new Map<string, number>();
  url = "";

  accepts(token: string): boolean {
    return Date.now() < (this.#validUntil.get(token) ?? 0);
  }

  /** The provider stops accepting all tokens of today. */
  revoke(): void {
    this.#validUntil.clear();
  }

  readonly listener: RequestListener = (request, response) => {
    response.setHeader("content-type", "application/json");
    const origin = "https://login.test";
    if (request.url?.includes("openid-configuration") === true) {
      const tenant = `${origin}/${TENANT}`;
      const metadata = {
        issuer: `${tenant}/v2.0`,
        authorization_endpoint: `${tenant}/oauth2/v2.0/authorize`,
        token_endpoint: `${tenant}/oauth2/v2.0/token`,
        jwks_uri: `${tenant}/discovery/v2.0/keys`,
      };
      response.end(JSON.stringify(metadata));
    } else this.#respond(response);
  };

  #respond(response: Parameters<RequestListener>[1]): void {
    if (this.behaviour === "silence") return;
    if (this.behaviour === "failure") response.statusCode = 400;
    const token = `eyJcanary-${this.tokens.length}.of.${crypto.randomUUID()}`;
    const known = { token_type: "Bearer", expires_in: this.lifetimeSeconds };
    if (this.behaviour === "token") {
      this.tokens.push(token);
      this.#validUntil.set(token, Date.now() + this.lifetimeSeconds * 1_000);
      response.end(JSON.stringify({ ...known, access_token: token }));
    } else if (this.behaviour === "garbage") {
      response.end(JSON.stringify({ ...known, token }));
    } else {
      response.end(JSON.stringify({ error: "invalid_grant", error_description: "The secret has expired." }));
    }
  }
}

const TENANT = "11111111-1111-1111-1111-111111111111";
const ENTRA_SCOPE = "https://ai.azure.com/.default";

function createCredential(service: TokenService): ClientSecretCredential {
  return new ClientSecretCredential(TENANT, "client", "secret-canary", {
    authorityHost: "https://login.test",
    disableInstanceDiscovery: true,
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [
      {
        position: "perRetry",
        policy: {
          name: "loopback",
          sendRequest(request, next) {
            request.url = service.url + new URL(request.url).pathname;
            request.allowInsecureConnection = true;
            return next(request);
          },
        },
      },
    ],
  });
}

/** A library that reads tokens, and a channel whose key they are. */
interface Library {
  readonly family: string;
  readonly dialect?: string;
  readonly model: string;
  /** The base URL of the channel, below the provider. */
  readonly path: string;
  /** Where the emulator serves a path of the provider. */
  readonly toEmulated: (path: string) => string;
  readonly createKey: (service: TokenService) => KeyFunction;
}

const google: Library = {
  family: "gemini",
  dialect: "vertex",
  model: "gemini-nano-banana-2.1",
  path: new URL(vertex({ project: "p", location: "us-central1" }).baseUrl).pathname,
  toEmulated: (path) => `/vertex${path}`,
  createKey(service) {
    const authClient = new UserRefreshClient({
      clientId: "client",
      clientSecret: "secret-canary",
      refreshToken: "refresh-canary",
      endpoints: { oauth2TokenUrl: `${service.url}/token` },
    });
    const auth = new GoogleAuth({ authClient });
    return async ({ refused }) => {
      const client = await auth.getClient();
      // The library has the refused token in its cache.
      if (refused !== undefined) client.credentials.expiry_date = 1;
      const { token } = await client.getAccessToken();
      return { key: token, expiresAt: client.credentials.expiry_date };
    };
  },
};

const azure: Library = {
  family: "openai",
  dialect: "azure",
  model: "gpt-image-2",
  path: "/openai/v1",
  toEmulated: (path) => path.replace("/openai", "/azure/openai"),
  createKey(service) {
    let credential = createCredential(service);
    return async ({ refused }) => {
      if (refused !== undefined) credential = createCredential(service);
      const { token, expiresOnTimestamp } = await credential.getToken(ENTRA_SCOPE);
      return { key: token, expiresAt: expiresOnTimestamp };
    };
  },
};

const EMULATED = {
  authorization: "Bearer any-key",
  "x-goog-api-key": "any-key",
  "content-type": "application/json",
};

/** A gateway with the official client, on sockets. */
async function open(
  library: Library,
  { createKey = library.createKey, ...options }: Partial<GatewayOptions & Pick<Library, "createKey">> = {},
) {
  const service = new TokenService();
  const tokens = await listen(service.listener);
  service.url = tokens.url;
  const emulator = createEmulator({ images: "tiny" });
  /** The tokens that the provider got. */
  const sent: string[] = [];
  const provider = await listen((request, response) => {
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    sent.push(token);
    const path = library.toEmulated(request.url ?? "");
    const respond = async (body: string): Promise<void> => {
      const emulated = service.accepts(token)
        ? await emulator.fetch(`http://127.0.0.1${path}`, { method: "POST", headers: EMULATED, body })
        : Response.json({ error: { code: "401", message: `The token ${token} is wrong.` } }, { status: 401 });
      response.writeHead(emulated.status, Object.fromEntries(emulated.headers)).end(await emulated.text());
    };
    void text(request).then(respond);
  });
  const records: SettledRecord[] = [];
  const logs: unknown[] = [];
  const log = (fields: object, message: string): void => void logs.push({ message, fields });
  const { family, dialect, model } = library;
  const gateway = createGateway({
    families: [openai, gemini],
    models: { [model]: { family } },
    channels: [
      {
        id: "c",
        family,
        ...(dialect !== undefined && { dialect }),
        apiKey: createKey(service),
        baseUrl: provider.url + library.path,
      },
    ],
    callers: [{ id: "me", key: CALLER_KEY }],
    onUsage: (record) => void (record.state === "settled" && records.push(record)),
    logger: { warn: log, error: log },
    ...options,
  });
  const server = await listen(toNodeHandler(gateway));
  onTestFinished(async () => {
    await gateway.close();
    for (const { close } of [server, provider, tokens]) await close();
  });
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: CALLER_KEY, maxRetries: 0 });
  /** Resolves to the number of images, or to the code of the error. */
  const generate = (): Promise<unknown> =>
    client.images.generate({ model, prompt: "a fox" }).then(
      ({ data }) => data?.length,
      (error: unknown) => (error instanceof APIError ? error.code : error),
    );
  const seen = (): string => inspect([logs, records, gateway.status()], { depth: 20 });
  return { gateway, service, sent, records, logs, generate, seen };
}

describe.each([
  ["google-auth-library", google],
  ["@azure/identity", azure],
])("a key from %s", (_name, library) => {
  it("is read with the first request, and used by all others", async () => {
    const { service, sent, generate } = await open(library);
    expect(service.tokens).toEqual([]);

    expect(await Promise.all([generate(), generate(), generate()])).toEqual([1, 1, 1]);
    expect(await generate()).toBe(1);
    expect(service.tokens).toHaveLength(1);
    expect(sent).toEqual(Array(4).fill(service.tokens[0]));
  });

  it("expires in the middle of traffic, and no request fails", async () => {
    // Before the gateway is created, which keeps the function of the time.
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { service, sent, generate, records, seen } = await open(library);
    const results: unknown[] = [];
    const send = async (): Promise<void> => {
      // Of 3,600 seconds, the last step before the end leaves 30.
      for (let step = 0; step < 50; step++) {
        vi.setSystemTime(Date.now() + 119_000);
        results.push(await generate());
      }
    };
    await Promise.all([send(), send()]);

    expect(new Set(results)).toEqual(new Set([1]));
    expect(records).toHaveLength(results.length);
    expect(service.tokens.length).toBeGreaterThan(2);
    expect(new Set(sent)).toEqual(new Set(service.tokens));
    expect(seen()).not.toContain("canary");
  });

  it("is replaced if the provider refuses it before its time", async () => {
    const { gateway, service, sent, generate, records, seen } = await open(library);
    await generate();
    service.revoke();

    expect(await Promise.all([generate(), generate()])).toEqual([1, 1]);
    expect(service.tokens).toHaveLength(2);
    const [first, second] = service.tokens;
    expect(sent.filter((token) => token === first)).toHaveLength(3);
    expect(sent.filter((token) => token === second)).toHaveLength(2);
    expect(records.map(({ attempts }) => attempts?.length)).toEqual([1, 1, 1]);
    expect(gateway.status().channels).toMatchObject([{ state: "ready", errors: [] }]);
    expect(seen()).not.toContain("canary");
  });

  it("is used by probeChannel", async () => {
    const { gateway, service } = await open(library);
    await gateway.probeChannel("c");
    service.revoke();

    expect(await gateway.probeChannel("c")).toMatchObject({ ok: true });
  });

  it.each<[behaviour: Behaviour, message: RegExp]>([
    ["failure", /invalid_grant|The secret has expired/],
    ["garbage", /Could not refresh access token|no "expiresOn" property/],
  ])(
    "is a failed key after a %s of the token endpoint, and works again after it",
    async (behaviour, message) => {
      const { gateway, service, sent, generate, records, seen } = await open(library);
      service.behaviour = behaviour;

      expect(await generate()).toBe("upstream_authentication_failed");
      expect(sent).toEqual([]);
      expect(records).toMatchObject([{ images: 0, errorCode: "upstream_authentication_failed" }]);
      expect(gateway.status().channels).toMatchObject([
        { state: "cooling", reason: "credential", errors: [{ message: expect.stringMatching(message) }] },
      ]);
      expect(seen()).toContain("A channel has no valid key, so nothing was sent.");
      expect(seen()).not.toContain("canary");
      service.behaviour = "token";
      await new Promise((resolve) => setTimeout(resolve, 1_000));

      expect(await generate()).toBe(1);
      expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
    },
  );
});

describe("a function of a library", () => {
  it("that returns only the key is called again when the provider refuses the key", async () => {
    const { service, generate } = await open(azure, {
      createKey: (tokens) => getBearerTokenProvider(createCredential(tokens), ENTRA_SCOPE),
    });
    // The library returns another token, because this one is about to expire.
    service.lifetimeSeconds = 1;
    await generate();
    await generate();
    expect(service.tokens).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 1_100));

    expect(await generate()).toBe(1);
    expect(service.tokens).toHaveLength(2);
  });

  it("may take 10 seconds", async () => {
    const { gateway, service, sent, generate, seen } = await open(google);
    service.behaviour = "silence";
    const startedAt = performance.now();

    expect(await generate()).toBe("upstream_authentication_failed");
    expect(performance.now() - startedAt).toBeGreaterThan(9_900);
    expect(sent).toEqual([]);
    expect(gateway.status().channels[0]?.errors[0]?.message).toContain("has not returned within 10 s");
    expect(seen()).not.toContain("canary");
  }, 30_000);
});
