/** Whether this is `npm run test:full`: everything, also what takes minutes. */
export const isFull = (): boolean => process.env["TEST_FULL"] === "1";
