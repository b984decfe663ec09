/**
 * Alerts that were delivered stay in the outbox, with the state `delivered`, until `forget_alerts` deletes them. A step of `MIGRATIONS`.
 * They are never due, so that processes of an older version do not deliver them again. The view has those that wait.
 */
export const KEPT_ALERTS = `
  CREATE OR REPLACE VIEW {schema}.budget_alerts AS
    SELECT sequence, caller, period, threshold, budget, settled, created_at, due_at AS leased_until
      FROM {schema}.outbox_entries WHERE threshold IS NOT NULL AND endpoint IS NULL AND state IS NULL;
  CREATE INDEX IF NOT EXISTS outbox_waiting_alerts ON {schema}.outbox_entries (sequence)
    WHERE threshold IS NOT NULL AND endpoint IS NULL AND state IS NULL;
`;
