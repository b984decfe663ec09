import { isNode } from "./body.js";

/** Credentials of the service. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The token of temporary credentials. */
  readonly sessionToken?: string | undefined;
}

/** The options of `createS3Store`. */
export interface S3StoreOptions {
  /**
   * The service, without the bucket: `https://s3.eu-central-1.amazonaws.com` (S3), `https://ACCOUNT.r2.cloudflarestorage.com`
   * (R2), `https://s3.oss-cn-hangzhou.aliyuncs.com` (OSS), `http://127.0.0.1:9000` (MinIO). It may have a port and a path.
   * Default: S3 in the `region`.
   */
  readonly endpoint?: string | undefined;
  /** The region in signatures, such as `eu-central-1`. `auto` for R2, `cn-hangzhou` for OSS, `us-east-1` for MinIO. */
  readonly region: string;
  readonly bucket: string;
  /** Either these two and perhaps {@link sessionToken}, or {@link credentials}. */
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
  readonly sessionToken?: string | undefined;
  /**
   * Returns the credentials. Called for every request and link, so keep them until they expire. A presigned link stops
   * working when temporary credentials expire, even if its own time is longer.
   */
  readonly credentials?: (() => S3Credentials | Promise<S3Credentials>) | undefined;
  /** Begins every key, such as `images/`. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * True: the bucket is the first part of the path. False: the bucket is a subdomain of the endpoint. Default: false for
   * the hosts of S3, R2, OSS, TOS (Volcengine, BytePlus) and COS (Tencent), unless the bucket's name has a dot; true for
   * others.
   */
  readonly pathStyle?: boolean | undefined;
  /** True: the {@link endpoint} is a host name of this bucket alone, so that the bucket is not added. Default false. */
  readonly bucketEndpoint?: boolean | undefined;
  /**
   * The address of a public bucket or its CDN. Links are this address and the key, and do not expire by themselves.
   * Default: presigned links.
   */
  readonly publicUrl?: string | undefined;
  /** The storage class of the images, such as `STANDARD_IA`. Default: that of the bucket. */
  readonly storageClass?: string | undefined;
  /** Headers for every upload, such as `x-amz-server-side-encryption`. Names begin with `x-amz-`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeouts?:
    | {
        /** The longest time for one request, and for each chunk of an image that is read. 0.1 to 600, default 30. */
        readonly requestSeconds?: number | undefined;
        /** A request that failed is not repeated after this time. 0 to 600, default 30. */
        readonly retrySeconds?: number | undefined;
      }
    | undefined;
  /** How often a request is repeated after a 5xx, a 429, a lost connection or a timeout. 0 to 10, default 3. */
  readonly maxRetries?: number | undefined;
  /** Sends the requests. It must support `signal`, and `redirect: "manual"`. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** The checked options, with defaults. */
export interface S3Settings {
  /** The URL of the bucket, without a slash at the end. */
  readonly bucketUrl: string;
  readonly region: string;
  readonly credentials: () => S3Credentials | Promise<S3Credentials>;
  readonly prefix: string;
  /** Without a slash at the end. */
  readonly publicUrl: string | undefined;
  /** For `PutObject` and `CreateMultipartUpload`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly requestSeconds: number;
  readonly retrySeconds: number;
  readonly maxRetries: number;
  /** True if {@link fetch} sends a stream with the length of its header. */
  readonly usesStreams: boolean;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** A wrong option. */
export interface S3OptionsProblem {
  /** The path of the option, such as `timeouts.requestSeconds`. */
  readonly path: string;
  readonly message: string;
}

/** Thrown by `createS3Store`. Contains every problem of the options. The message never contains a value. */
export class S3OptionsError extends TypeError {
  override readonly name = "S3OptionsError";
  readonly problems: readonly S3OptionsProblem[];

  constructor(problems: readonly S3OptionsProblem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === "" ? "options" : path} ${message}`);
    super(`The options of the S3 store are wrong:\n${lines.join("\n")}`);
    this.problems = problems;
  }
}

/** Services whose buckets are subdomains. Sources: docs/s3.md. */
const VIRTUAL_HOSTS =
  /(?:^|\.)(?:amazonaws\.com|amazonaws\.com\.cn|r2\.cloudflarestorage\.com|aliyuncs\.com|i?volces\.com|i?bytepluses\.com|myqcloud\.com)$/;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const OPTIONS: ReadonlySet<string> = new Set<keyof S3StoreOptions>([
  "endpoint",
  "region",
  "bucket",
  "accessKeyId",
  "secretAccessKey",
  "sessionToken",
  "credentials",
  "prefix",
  "pathStyle",
  "bucketEndpoint",
  "publicUrl",
  "storageClass",
  "headers",
  "timeouts",
  "maxRetries",
  "fetch",
]);
const TIMEOUTS: ReadonlySet<string> = new Set(["requestSeconds", "retrySeconds"]);
/** Headers that a signature needs, and those of a customer's own key, which every later request would need too. */
const OWN_HEADERS = /^x-amz-(?:content-sha256$|date$|security-token$|server-side-encryption-customer-)/;

/** @throws S3OptionsError */
export function checkOptions(options: S3StoreOptions): S3Settings {
  if (!isRecord(options)) throw new S3OptionsError([{ path: "", message: "must be an object." }]);
  const problems = [...findProblems(options)];
  if (problems.length > 0) throw new S3OptionsError(problems);
  return toSettings(options);
}

/** @throws TypeError if the function of the operator returned something else */
export function assertCredentials(value: unknown): asserts value is S3Credentials {
  if (!isRecord(value) || [...findCredentialProblems(value)].length > 0) {
    throw new TypeError(
      "The function credentials must return accessKeyId, secretAccessKey and perhaps sessionToken.",
    );
  }
}

function toSettings(options: S3StoreOptions): S3Settings {
  const { region, bucket, prefix = "", publicUrl, storageClass, timeouts = {}, maxRetries = 3 } = options;
  const { accessKeyId = "", secretAccessKey = "", sessionToken } = options;
  const fixed: S3Credentials = { accessKeyId, secretAccessKey, sessionToken };
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    bucketUrl: toBucketUrl(options, bucket),
    region,
    credentials: options.credentials ?? (() => fixed),
    prefix,
    publicUrl: publicUrl?.replace(/\/$/, ""),
    headers: {
      ...Object.fromEntries(headers),
      ...(storageClass !== undefined && { "x-amz-storage-class": storageClass }),
    },
    requestSeconds: timeouts.requestSeconds ?? 30,
    retrySeconds: timeouts.retrySeconds ?? 30,
    maxRetries,
    usesStreams: options.fetch === undefined && isNode(),
    // A function, so that a global `fetch` that is replaced later is used.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
  };
}

function toBucketUrl(
  { endpoint, region, pathStyle, bucketEndpoint }: S3StoreOptions,
  bucket: string,
): string {
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const { protocol, host, hostname, pathname } = new URL(endpoint ?? `https://s3.${region}.${domain}`);
  const path = pathname.replace(/\/$/, "");
  if (bucketEndpoint === true) return `${protocol}//${host}${path}`;
  // A certificate for `*.s3.…` is not valid for a name with another dot.
  const isPathStyle = pathStyle ?? (!VIRTUAL_HOSTS.test(hostname) || bucket.includes("."));
  return isPathStyle ? `${protocol}//${host}${path}/${bucket}` : `${protocol}//${bucket}.${host}${path}`;
}

function* findProblems(options: S3StoreOptions): Iterable<S3OptionsProblem> {
  const { region, bucket, credentials, timeouts } = options;
  for (const name of Object.keys(options).filter((key) => !OPTIONS.has(key))) {
    yield { path: name, message: "is not an option." };
  }
  yield* findAddressProblems(options);
  if (typeof region !== "string" || !/^[a-z0-9-]{1,64}$/.test(region)) {
    yield { path: "region", message: "must be the name of a region, such as us-east-1, or auto for R2." };
  }
  if (typeof bucket !== "string" || !BUCKET.test(bucket)) {
    const rule = "must be 3 to 63 lowercase letters, digits, hyphens and dots.";
    yield { path: "bucket", message: rule };
  }
  if (credentials === undefined) yield* findCredentialProblems(options);
  else if (typeof credentials !== "function") yield { path: "credentials", message: "must be a function." };
  else if (
    [options.accessKeyId, options.secretAccessKey, options.sessionToken].some((key) => key !== undefined)
  ) {
    yield {
      path: "credentials",
      message: "and accessKeyId, secretAccessKey, sessionToken exclude each other.",
    };
  }
  yield* findKeyAndHeaderProblems(options);
  if (timeouts !== undefined && !isRecord(timeouts))
    yield { path: "timeouts", message: "must be an object." };
  else yield* findTimeProblems(timeouts ?? {});
  yield* checkNumber("maxRetries", options.maxRetries, 0, 10);
  if (options.maxRetries !== undefined && !Number.isInteger(options.maxRetries)) {
    yield { path: "maxRetries", message: "must be an integer." };
  }
  if (options.fetch !== undefined && typeof options.fetch !== "function") {
    yield { path: "fetch", message: "must be a function." };
  }
}

function* findAddressProblems(options: S3StoreOptions): Iterable<S3OptionsProblem> {
  const { endpoint, publicUrl, pathStyle, bucketEndpoint } = options;
  if (endpoint !== undefined && !isAddress(endpoint)) {
    const rule =
      "must be an http or https URL without a user, query and fragment, and its path must need no encoding.";
    yield { path: "endpoint", message: rule };
  }
  if (publicUrl !== undefined && !isAddress(publicUrl)) {
    const rule =
      "must be an http or https URL without a user, query and fragment, and its path must need no encoding.";
    yield { path: "publicUrl", message: rule };
  }
  for (const [path, value] of Object.entries({ pathStyle, bucketEndpoint })) {
    if (value !== undefined && typeof value !== "boolean") yield { path, message: "must be true or false." };
  }
  if (bucketEndpoint === true && endpoint === undefined) {
    yield { path: "bucketEndpoint", message: "needs an endpoint." };
  }
  if (bucketEndpoint === true && pathStyle === true) {
    yield { path: "bucketEndpoint", message: "and pathStyle exclude each other." };
  }
}

/** Characters that a path does not encode: their signature is the same with every service. */
function isAddress(value: unknown): boolean {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, username, password, search, hash, pathname } = new URL(value);
  if (protocol !== "http:" && protocol !== "https:") return false;
  if (username !== "" || password !== "" || search !== "" || hash !== "") return false;
  return /^[\w.~/-]*$/.test(pathname) && !pathname.includes("//");
}

function* findCredentialProblems(
  options: Readonly<Partial<Record<keyof S3Credentials, unknown>>>,
): Iterable<S3OptionsProblem> {
  const { accessKeyId, secretAccessKey, sessionToken } = options;
  const rule = "must be a string without spaces and control characters";
  for (const [path, value] of Object.entries({ accessKeyId, secretAccessKey })) {
    const isMissing = value === undefined || value === "";
    if (isMissing) yield { path, message: "is missing; is the environment variable set?" };
    else if (!isHeaderValue(value)) yield { path, message: `${rule}.` };
  }
  if (sessionToken !== undefined && !isHeaderValue(sessionToken)) {
    yield { path: "sessionToken", message: `${rule}.` };
  }
}

const isHeaderValue = (value: unknown): boolean => typeof value === "string" && /^[!-~]+$/.test(value);

function* findKeyAndHeaderProblems({
  prefix,
  storageClass,
  headers,
}: S3StoreOptions): Iterable<S3OptionsProblem> {
  if (prefix !== undefined && !isPrefix(prefix)) {
    const rule =
      "must be at most 512 bytes without control characters, and without empty segments and the segments . and ..";
    yield { path: "prefix", message: rule };
  }
  if (
    storageClass !== undefined &&
    (typeof storageClass !== "string" || !/^[A-Z0-9_]{1,64}$/.test(storageClass))
  ) {
    yield { path: "storageClass", message: "must be the name of a storage class, such as STANDARD_IA." };
  }
  if (headers === undefined) return;
  if (!isRecord(headers)) return yield { path: "headers", message: "must be an object." };
  for (const [name, value] of Object.entries(headers)) {
    const path = `headers[${JSON.stringify(name)}]`;
    const lowerCase = name.toLowerCase();
    if (!/^x-amz-[a-z0-9-]+$/.test(lowerCase) || OWN_HEADERS.test(lowerCase)) {
      yield { path, message: "cannot be set. Names begin with x-amz-." };
    } else if (typeof value !== "string" || !/^[!-~](?:[ -~]*[!-~])?$/.test(value)) {
      yield { path, message: "must be a string of printable ASCII characters." };
    }
  }
}

function isPrefix(prefix: unknown): boolean {
  if (typeof prefix !== "string" || !prefix.isWellFormed() || /\p{Cc}/u.test(prefix)) return false;
  if (new TextEncoder().encode(prefix).length > 512) return false;
  const segments = prefix.split("/");
  return segments.every(
    (segment, i) => (segment !== "" || i === segments.length - 1) && !/^\.{1,2}$/.test(segment),
  );
}

function* findTimeProblems(timeouts: NonNullable<S3StoreOptions["timeouts"]>): Iterable<S3OptionsProblem> {
  for (const name of Object.keys(timeouts).filter((key) => !TIMEOUTS.has(key))) {
    yield { path: `timeouts.${name}`, message: "is not an option." };
  }
  yield* checkNumber("timeouts.requestSeconds", timeouts.requestSeconds, 0.1, 600);
  yield* checkNumber("timeouts.retrySeconds", timeouts.retrySeconds, 0, 600);
}

function* checkNumber(path: string, value: unknown, least: number, most: number): Iterable<S3OptionsProblem> {
  if (value === undefined || (typeof value === "number" && value >= least && value <= most)) return;
  yield { path, message: `must be a number from ${least} to ${most}.` };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
