import { fork } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Order, Work } from "./work.js";

const PROGRAM = fileURLToPath(new URL("server-process.ts", import.meta.url));

/** A gateway in a process of its own, and what it tells of its work. */
export interface GatewayProcess {
  readonly url: string;
  /** What it does until this work is done. */
  countWork(work: () => Promise<void>): Promise<Work>;
  /** How many bytes of its heap it takes for this work; `undefined` where they cannot be told. */
  countAllocated(work: () => Promise<void>): Promise<number | undefined>;
  /** The bytes that it holds. */
  countHeld(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a gateway in front of the provider at this address, on a runtime with these flags. */
export async function startGateway(providerUrl: string, flags: readonly string[]): Promise<GatewayProcess> {
  const child = fork(PROGRAM, [providerUrl], { execArgv: ["--expose-gc", ...flags] });
  const ended = once(child, "exit");
  const failed = ended.then(() => Promise.reject(new Error("The gateway's process ended.")));
  failed.catch(() => undefined);

  const hear = async <T>(): Promise<T> => {
    const [message] = await Promise.race([once(child, "message"), failed]);
    const { answer }: { answer: T } = message;
    return answer;
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
