import { isArkErrorCode } from "../ark/error-codes.js";
import { isDashscopeErrorCode } from "../dashscope/error-codes.js";
import type { ProviderName } from "../provider-name.js";
import type { Random } from "../random.js";
import { checkFault } from "./check-fault.js";
import type { Fault } from "./fault.js";

/** Makes the emulator misbehave on demand. */
export interface FaultControl {
  /**
   * Adds faults. A request meets the oldest one that matches it and is not used up; faults that only delay
   * (`latencyMs` alone) come on top of it. Throws a `TypeError` on a fault that makes no sense.
   */
  add(...faults: readonly Fault[]): void;
  /** Removes every fault. */
  clear(): void;
  /** What is still to come, oldest first; `times` counts down. */
  readonly active: readonly Fault[];
}

/** What the emulator itself needs of the faults. */
export interface FaultSource extends FaultControl {
  /** The fault that this request meets, counted as used; an empty one when none does. */
  take(provider: ProviderName, model: unknown): Fault;
}

export function createFaultControl(random: Random): FaultSource {
  let active: Fault[] = [];
  const use = (fault: Fault) => {
    const left = fault.times === undefined ? undefined : fault.times - 1;
    active = active.flatMap((other) => {
      if (other !== fault || left === undefined) return [other];
      return left > 0 ? [{ ...other, times: left }] : [];
    });
  };
  return {
    add(...faults) {
      active.push(...faults.map((fault) => structuredClone(checkFault(fault))));
    },
    clear() {
      active = [];
    },
    get active() {
      return structuredClone(active);
    },
    take(provider, model) {
      let latencyMs = 0;
      let met: Fault | undefined;
      for (const fault of active) {
        const isDelay = onlyDelays(fault);
        if ((!isDelay && met !== undefined) || !concerns(fault, provider, model)) continue;
        if (random() >= (fault.probability ?? 1)) continue;
        use(fault);
        latencyMs += fault.latencyMs ?? 0;
        if (!isDelay) met = fault;
      }
      return { ...met, latencyMs };
    },
  };
}

const fieldsOfADelay = new Set(["provider", "model", "times", "probability", "latencyMs"]);

function onlyDelays(fault: Fault): boolean {
  return Object.keys(fault).every((name) => fieldsOfADelay.has(name));
}

function concerns(fault: Fault, provider: ProviderName, model: unknown): boolean {
  if (fault.provider !== undefined && fault.provider !== provider) return false;
  if (fault.model !== undefined && fault.model !== model) return false;
  return fault.provider !== undefined || fault.status !== undefined || knowsCode(provider, fault.code);
}

/** A code without a provider means the provider that has it, and both where both have it. */
function knowsCode(provider: ProviderName, code: string | undefined): boolean {
  if (code === undefined) return true;
  return provider === "ark" ? isArkErrorCode(code) : isDashscopeErrorCode(code);
}
