/**
 * Transactions send no notifications: the ledger sends them afterwards, see `notifications.ts`. A part of a step of `MIGRATIONS`.
 * Changes of processes of an older version are found by polling.
 */
export const CHANGES_WITHOUT_NOTIFY = `
  CREATE OR REPLACE FUNCTION {schema}.tell(p_by uuid, p_is_queued boolean, p_has_message boolean, p_changed text[])
  RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    -- A notification makes the commits of all transactions of the database wait for each other.
  END $$;

  -- As before, without a notification.
  CREATE OR REPLACE FUNCTION {schema}.write_caller(
    p_id text, p_settings text, p_keys text, p_revoked_ms float8, p_now_ms float8,
    p_made_by text, p_action text, p_details text, p_owner uuid
  ) RETURNS void LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := to_timestamp(p_now_ms / 1000);
  BEGIN
    INSERT INTO {schema}.callers AS c (id, settings, created_at, changed_at, revoked_at)
      VALUES (p_id, p_settings, instant, instant, to_timestamp(p_revoked_ms / 1000))
      ON CONFLICT (id) DO UPDATE
        SET settings = excluded.settings, changed_at = excluded.changed_at, revoked_at = excluded.revoked_at;
    DELETE FROM {schema}.caller_keys WHERE caller = p_id;
    INSERT INTO {schema}.caller_keys (hash, caller, place, hint, created_at, ends_at)
      SELECT k.key ->> 'hash', p_id, k.place, k.key ->> 'hint', to_timestamp((k.key ->> 'createdAt')::float8 / 1000),
          to_timestamp((k.key ->> 'endsAt')::float8 / 1000)
        FROM json_array_elements(p_keys::json) WITH ORDINALITY AS k (key, place);
    INSERT INTO {schema}.caller_audit (time, made_by, action, caller, details)
      VALUES (instant, p_made_by, p_action, p_id, p_details);
    UPDATE {schema}.caller_revision SET revision = revision + 1;
  END $$;
`;
