/** Holds whose process died, and whose requests another process continues. A step of `MIGRATIONS`. */
export const KEPT_HOLDS = `
  -- What another process needs to continue the request; NULL if it cannot be continued.
  ALTER TABLE {schema}.holds ADD COLUMN upstream text;
  -- The number of the call of the owner that stored it, or that took the hold. A statement of an earlier call that arrives
  -- late changes nothing.
  ALTER TABLE {schema}.holds ADD COLUMN upstream_step bigint NOT NULL DEFAULT 0;
  CREATE INDEX holds_to_continue ON {schema}.holds (id) WHERE upstream IS NOT NULL;

  CREATE FUNCTION {schema}.keep_hold_upstream(p_id text, p_upstream text, p_step bigint, p_owner uuid) RETURNS void
  LANGUAGE plpgsql {settings} AS $$
  BEGIN
    UPDATE {schema}.holds h SET upstream = p_upstream, upstream_step = p_step
      WHERE h.id = p_id AND h.owner = p_owner AND h.task IS NULL AND h.upstream_step < p_step;
  END $$;

  -- Takes holds of dead owners for an owner, the oldest first, and those that a failed call of the owner took.
  CREATE FUNCTION {schema}.take_kept_holds(
    p_limit bigint, p_ttl_ms float8, p_step bigint, p_unsure_steps bigint[], p_owner uuid, p_lease_ms float8,
    p_now_ms float8
  ) RETURNS TABLE (id text, hold text, upstream text) LANGUAGE plpgsql {settings} AS $$
  DECLARE
    instant timestamptz := {schema}.task_instant(p_now_ms);
    chosen text[];
  BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.upstream IS NOT NULL) THEN RETURN; END IF;
    PERFORM {schema}.keep_owner(p_owner, p_lease_ms, instant);
    chosen := ARRAY(
      SELECT h.id FROM {schema}.holds h
        WHERE h.upstream IS NOT NULL AND CASE WHEN h.owner = p_owner THEN h.upstream_step = ANY (p_unsure_steps)
          ELSE NOT EXISTS (SELECT FROM {schema}.owners o WHERE o.id = h.owner AND o.alive_until > instant) END
        ORDER BY h.hold->>'time', h.id LIMIT p_limit FOR UPDATE OF h SKIP LOCKED);
    RETURN QUERY UPDATE {schema}.holds h
      SET owner = p_owner, upstream_step = p_step,
        expires_at = greatest(h.expires_at, instant + p_ttl_ms * interval '1 millisecond')
      WHERE h.id = ANY (chosen) RETURNING h.id, h.hold::text, h.upstream;
  END $$;
`;
