/**
 * Which kinds of entries of the outbox a process delivers. A part of a step of `MIGRATIONS`. The rule is in one trigger, because the
 * functions of all steps write entries, also those that only processes of an older version call.
 */
export const OUTBOX_READERS = `
  -- The kinds of entries that a process delivers, and when the last such process was seen. Records and alerts are written only
  -- while a row says so, for 30 days after that. A process writes its rows before it makes its first hold.
  CREATE TABLE {schema}.outbox_readers (
    kind text COLLATE "C" PRIMARY KEY, -- 'record' or 'alert'
    seen_at timestamptz NOT NULL
  );
  -- Processes of an older version say nothing of what they deliver. So in a schema that they may use, all is delivered at first.
  INSERT INTO {schema}.outbox_readers (kind, seen_at)
    SELECT kind, clock_timestamp() FROM (VALUES ('record'), ('alert')) AS k (kind)
      WHERE (SELECT version FROM {schema}.format) > 0;

  CREATE FUNCTION {schema}.keep_read_entry() RETURNS trigger LANGUAGE plpgsql {settings} AS $$
  BEGIN
    IF EXISTS (SELECT FROM {schema}.outbox_readers r
        WHERE r.kind = CASE WHEN NEW.record IS NULL THEN 'alert' ELSE 'record' END
          AND r.seen_at > clock_timestamp() - interval '30 days')
    THEN
      RETURN NEW;
    END IF;
    -- A version of the record that was not delivered yet is replaced, because only the present version can be delivered.
    IF NEW.record IS NOT NULL AND EXISTS (SELECT FROM {schema}.outbox_entries e WHERE e.record = NEW.record) THEN
      RETURN NEW;
    END IF;
    RETURN NULL;
  END $$;
  ALTER FUNCTION {schema}.keep_read_entry SET plan_cache_mode = force_generic_plan;

  -- Messages are written only for endpoints that exist.
  CREATE TRIGGER keep_read_entry BEFORE INSERT ON {schema}.outbox_entries FOR EACH ROW WHEN (NEW.endpoint IS NULL)
    EXECUTE FUNCTION {schema}.keep_read_entry();

  -- Forgets records that no process has delivered for 30 days, some thousands at a time.
  CREATE FUNCTION {schema}.forget_unread() RETURNS void LANGUAGE plpgsql {settings} AS $$
  BEGIN
    IF EXISTS (SELECT FROM {schema}.outbox_readers r
        WHERE r.kind = 'record' AND r.seen_at > clock_timestamp() - interval '30 days')
    THEN
      RETURN;
    END IF;
    DELETE FROM {schema}.outbox_entries e WHERE e.sequence = ANY (ARRAY(
      SELECT o.sequence FROM {schema}.outbox_entries o WHERE o.record IS NOT NULL ORDER BY o.sequence LIMIT 5000
      FOR UPDATE SKIP LOCKED));
  END $$;
`;
