export { type CloseOnSignalsOptions, closeOnSignals } from "./close-on-signals.js";
export { handleNodeRequest } from "./handle-node-request.js";
export { jsonFile } from "./json-file.js";
export { readMountPath } from "./mount-path.js";
export type { HostRequest } from "./node-request.js";
export { type NodeHandler, toNodeHandler } from "./to-node-handler.js";
