-- The steps of the runs that a judge is asked about.
--
-- Grain       One row per step of the runs in `picked`, sorted by (run_key, step_index).
-- Needs       The views of the lake; picked: run_key, once each.
SELECT
    s.run_key,
    s.step_index,
    s.kind::VARCHAR AS kind,
    s.actor,
    s.tool_name,
    s.tool_args,
    s.output,
    coalesce(s.is_error, false) AS is_error,
    s.error,
    s.content
FROM steps AS s
SEMI JOIN picked USING (run_key)
ORDER BY s.run_key, s.step_index;
