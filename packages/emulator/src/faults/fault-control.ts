import { isErrorCodeOf } from "../error-codes.js";
import type { OperationKind } from "../operation-kind.js";
import type { ProviderName } from "../provider-name.js";
import type { Random } from "../random.js";
import { checkFault } from "./check-fault.js";
import type { Fault } from "./fault.js";

/** Adds and removes the faults of an emulator. */
export interface FaultControl {
  /**
   * Adds faults. To each request the emulator applies the oldest fault that matches and is not used up, and all
   * matching faults with latency alone.
   *
   * @throws TypeError if a fault has an unknown field or a wrong value.
   */
  add(...faults: readonly Fault[]): void;
  /** Removes all faults. */
  clear(): void;
  /** The faults that are not used up, oldest first. `times` is what is left of it. */
  readonly active: readonly Fault[];
}

/** The faults as the emulator uses them. */
export interface FaultSource extends FaultControl {
  /** Returns the fault that applies to a request, and counts it as used. An empty fault if none applies. */
  take(provider: ProviderName, request: FaultTarget): Fault;
}

/** What a fault can be limited to, besides the provider. */
interface FaultTarget {
  readonly model: unknown;
  readonly operation: OperationKind;
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
    take(provider, target) {
      let latencyMs = 0;
      let applied: Fault | undefined;
      for (const fault of active) {
        const isDelay = hasLatencyAlone(fault);
        if ((!isDelay && applied !== undefined) || !matches(fault, provider, target)) continue;
        if (random() >= (fault.probability ?? 1)) continue;
        use(fault);
        latencyMs += fault.latencyMs ?? 0;
        if (!isDelay) applied = fault;
      }
      return { ...applied, latencyMs };
    },
  };
}

const fieldsOfADelay = new Set(["provider", "model", "operation", "times", "probability", "latencyMs"]);

function hasLatencyAlone(fault: Fault): boolean {
  return Object.keys(fault).every((name) => fieldsOfADelay.has(name));
}

/** The operations that a fault without `operation` applies to: those that make images. */
const making: ReadonlySet<OperationKind> = new Set(["generation", "edit", "submit"]);

function matches(fault: Fault, provider: ProviderName, { model, operation }: FaultTarget): boolean {
  if (fault.provider !== undefined && fault.provider !== provider) return false;
  if (fault.model !== undefined && fault.model !== model) return false;
  if (fault.operation === undefined ? !making.has(operation) : fault.operation !== operation) return false;
  return fault.provider !== undefined || fault.status !== undefined || hasCode(provider, fault.code);
}

/** A code without a provider means the providers that have it. */
function hasCode(provider: ProviderName, code: string | undefined): boolean {
  return code === undefined || isErrorCodeOf(provider, code);
}
