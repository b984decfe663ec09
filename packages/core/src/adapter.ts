export type { Gateway } from "./gateway.js";
export type { GatewayRequest, GatewayResponse, GatewayResponseBody, HeaderReader } from "./http.js";
export { allowFreeing, freeChunk, isFreeable } from "./util/free-chunk.js";
export { type ReadableLike, toChunks } from "./util/readable-chunks.js";
