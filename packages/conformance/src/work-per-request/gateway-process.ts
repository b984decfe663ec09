import { fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Order, Work } from "./work.js";

const PROGRAM = fileURLToPath(new URL("server-process.ts", import.meta.url));

/** A gateway in a separate process that reports its work. */
export interface GatewayProcess {
  readonly url: string;
  /** The work of the gateway during this action. */
  countWork(work: () => Promise<void>): Promise<Work>;
  /** The source files of core that run during this action. */
  listFiles(work: () => Promise<void>): Promise<readonly string[]>;
  /** The heap bytes that the gateway allocates during this action; `undefined` if they are unknown. */
  countAllocated(work: () => Promise<void>): Promise<number | undefined>;
  /** The bytes that the gateway holds. */
  countHeld(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a gateway that calls the provider at this address, with these command-line flags. */
export async function startGateway(providerUrl: string, flags: readonly string[]): Promise<GatewayProcess> {
  const child = fork(PROGRAM, [providerUrl], { execArgv: ["--expose-gc", ...flags] });
  const ended = once(child, "exit");
  const failed = ended.then(() => Promise.reject(new Error("The gateway's process ended.")));
  failed.catch(() => undefined);

  const hear = async <T>(): Promise<T> => {
    const [message] = await Promise.race([once(child, "message"), failed]);
    const { response }: { response: T } = message;
    return response;
  };
  const tell = <T>(order: Order): Promise<T> => {
    const heard = hear<T>();
    child.send(order);
    return heard;
  };

  const { port } = await hear<AddressInfo>();
  return {
    url: `http://127.0.0.1:${port}`,
    async countWork(work) {
      await tell("start counting");
      await work();
      return tell<Work>("stop counting");
    },
    async listFiles(work) {
      await tell("start listing files");
      await work();
      return tell<readonly string[]>("stop listing files");
    },
    async countAllocated(work) {
      await tell("start allocating");
      await work();
      return tell<number | undefined>("stop allocating");
    },
    countHeld: () => tell<number>("tell what is held"),
    async stop() {
      child.disconnect();
      await ended;
    },
  };
}
