/**
 * The listener of a pool, and of a connection in use: without one the loss of a connection would end the process. The
 * pool forgets the connection, and the statement on it rejects by itself.
 */
export const ignoreLostConnection = (): void => undefined;
