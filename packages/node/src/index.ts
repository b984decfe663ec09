export { type ClosableServer, type CloseOnSignalsOptions, closeOnSignals } from "./close-on-signals.js";
export { createFileStore, type FileStore, type FileStoreOptions } from "./file-store.js";
export { handleNodeRequest } from "./handle-node-request.js";
export { type JsonFile, type JsonFileOptions, jsonFile } from "./json-file.js";
export { type HostRequest, readMountPath } from "./node-request.js";
export {
  type FastifyHook,
  type FastifyReplyParts,
  type FastifyRequestParts,
  toFastifyHook,
} from "./to-fastify-hook.js";
export { type NodeHandler, toNodeHandler } from "./to-node-handler.js";
