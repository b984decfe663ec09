export type { ArkErrorCode } from "./ark/error-codes.js";
export type { DashscopeErrorCode } from "./dashscope/error-codes.js";
export { createEmulator, type Emulator } from "./emulator.js";
export type {
  Amount,
  BodyFault,
  FailedImage,
  Fault,
  FaultCode,
  StreamFault,
  TaskFault,
} from "./faults/fault.js";
export type { FaultControl } from "./faults/fault-control.js";
export type { GeminiErrorCode } from "./gemini/error-codes.js";
export type { FormPart } from "./http/read-form.js";
export type { OpenaiErrorCode } from "./openai/error-codes.js";
export type { OperationKind } from "./operation-kind.js";
export type { EmulatorOptions, ImageMode } from "./options.js";
export type { ProviderName } from "./provider-name.js";
export type { RecordedRequest } from "./recorder.js";
export type { EmulatorServer, FinishedRequest, ListenOptions } from "./server.js";
