-- The steps of the runs that a judge is asked about.
--
-- Grain       One row per step of the runs in `picked`, sorted by (run_key, step_index).
-- Needs       The views of the lake; picked: run_key, once each.
-- Parameters  $low, $high   their least and greatest key: files hold the range of keys per row
--                           group, so that few are read.
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
WHERE s.run_key BETWEEN $low::UBIGINT AND $high::UBIGINT
ORDER BY s.run_key, s.step_index;
