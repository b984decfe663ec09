/** The state of waiting for a job. */
export interface PollInterval {
  /** What the family says, in seconds. Default 1. */
  readonly pollSeconds?: number | undefined;
  /** How many polls there were. */
  readonly polls: number;
  /** How many of the last polls in a row failed, because of the network or a temporary error of the provider. */
  readonly failures: number;
  /** How long the provider asked to wait, in seconds. */
  readonly retryAfterSeconds?: number | undefined;
  /** A number from 0 up to, not including, 1. */
  readonly random: number;
}

const DEFAULT_POLL_SECONDS = 1;
const MIN_SECONDS = 0.1;
/** The wait grows by a tenth with each poll, so that the end of a job is seen at most a tenth of its time too late. */
const GROWTH = 1.1;
/** … up to this, unless the family asks for more. */
const MAX_GROWN_SECONDS = 5;
/** The longest wait after polls that failed, unless the provider asks for more. */
const MAX_FAILED_SECONDS = 30;

/** Returns the time until the next poll, in milliseconds. It is never shorter than what the provider asked for. */
export function findPollWait({
  pollSeconds = DEFAULT_POLL_SECONDS,
  polls,
  failures,
  retryAfterSeconds,
  random,
}: PollInterval): number {
  const base = Math.max(MIN_SECONDS, pollSeconds);
  const grown = Math.min(base * GROWTH ** polls, Math.max(base, MAX_GROWN_SECONDS));
  const backedOff =
    failures === 0 ? grown : Math.min(grown * 2 ** failures, Math.max(base, MAX_FAILED_SECONDS));
  // Of several gateways that wait for the same provider, not all poll at the same moment.
  const jitter = 1 + 0.2 * random;
  return Math.round(Math.max(retryAfterSeconds ?? backedOff, MIN_SECONDS) * jitter * 1000);
}
