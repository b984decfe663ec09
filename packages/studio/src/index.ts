export type { Authorize, StudioAccess, StudioRequest } from "./access.js";
export type { StudioGateway } from "./api/route.js";
export { createStudio, type Studio, type StudioOptions } from "./studio.js";
export type { Role } from "./wire.js";
