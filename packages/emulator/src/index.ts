export type { ArkErrorCode } from "./ark/error-codes.js";
export type { DashscopeErrorCode } from "./dashscope/error-codes.js";
export { createEmulator, type Emulator } from "./emulator.js";
export type { Amount, BodyFault, FailedImage, Fault, FaultCode, StreamFault } from "./faults/fault.js";
export type { FaultControl } from "./faults/fault-control.js";
export type { EmulatorOptions } from "./options.js";
export type { ProviderName } from "./provider-name.js";
export type { RecordedRequest } from "./recorder.js";
export type { EmulatorServer, FinishedRequest, ListenOptions } from "./server.js";
