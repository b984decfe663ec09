import { literal } from "./monthly-records.js";

/** Changes the functions of older steps to the present `FUNCTION_SETTINGS`. A step of `MIGRATIONS`. */
export const WITHOUT_COMPILATION = `
  DO $do$
  DECLARE
    item regprocedure;
  BEGIN
    FOR item IN
      SELECT p.oid::regprocedure FROM pg_proc p
        WHERE p.pronamespace = ${literal("{schema}")}::regnamespace AND 'enable_seqscan=off' = ANY (p.proconfig)
    LOOP
      EXECUTE 'ALTER FUNCTION ' || item || ' SET jit = off';
    END LOOP;
  END $do$;
`;
