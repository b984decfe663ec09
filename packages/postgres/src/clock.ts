/**
 * The present time in SQL, from a parameter with milliseconds since 1970, or `null` for the clock of the database:
 * the clocks of several machines differ, and leases are then cut short by those that are ahead.
 */
export const toClock = (parameter: string): string =>
  `coalesce(to_timestamp(${parameter}::float8 / 1000), clock_timestamp())`;
