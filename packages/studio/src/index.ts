export type { Authorize, StudioRequest } from "./access.js";
export { createStudio, type Studio, type StudioGateway, type StudioOptions } from "./studio.js";
export type { Role } from "./wire.js";
