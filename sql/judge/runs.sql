-- What a judge is shown of a run beside its steps.
--
-- Grain       One row per run in `picked`, sorted by run_key.
-- Needs       The views of the lake; picked: run_key, once each.
-- Parameters  $low, $high   their least and greatest key: files hold the range of keys per row
--                           group, so that few are read.
-- Columns     run_key
--             task       the task's prompt, else the first words of the user
--             answer     the final answer, null where there is none
--             reference  the task's reference answers, null where there is none
WITH said AS (
    SELECT
        run_key,
        arg_min(content, step_index) FILTER (kind = 'message' AND actor = 'user') AS asked,
        arg_max(content, step_index) FILTER (kind = 'final') AS answered
    FROM steps
    SEMI JOIN picked USING (run_key)
    WHERE run_key BETWEEN $low::UBIGINT AND $high::UBIGINT
    GROUP BY run_key
)

SELECT
    r.run_key,
    coalesce(t.prompt, d.asked)::VARCHAR AS task,
    nullif(trim(coalesce(r.final_output, d.answered)), '')::VARCHAR AS answer,
    nullif(
        array_to_string(t.reference_outputs, E'\n\nor, as an alternative:\n\n'), ''
    )::VARCHAR AS reference
FROM runs AS r
SEMI JOIN picked USING (run_key)
LEFT JOIN said AS d USING (run_key)
LEFT JOIN tasks AS t
    ON t.task_id = r.task_id AND t.suite IS NOT DISTINCT FROM r.suite
WHERE r.run_key BETWEEN $low::UBIGINT AND $high::UBIGINT
ORDER BY r.run_key;
