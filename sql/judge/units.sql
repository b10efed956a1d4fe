-- What could be judged: runs, or steps of some kinds.
--
-- Grain       One row per run (step_index null), or per step of `kinds`, sorted.
-- Needs       The views of the lake; chosen: the run_keys of the runs asked for; kinds: kind.
-- Parameters  $by_step   one row per step?
SELECT
    r.run_key,
    r.run_id,
    s.step_index::UINTEGER AS step_index
FROM runs AS r
SEMI JOIN chosen USING (run_key)
LEFT JOIN (
    SELECT
        run_key,
        step_index
    FROM steps
    WHERE $by_step AND kind::VARCHAR IN (SELECT kind FROM kinds)
) AS s USING (run_key)
WHERE s.step_index IS NOT NULL OR NOT $by_step
ORDER BY r.run_key, step_index;
