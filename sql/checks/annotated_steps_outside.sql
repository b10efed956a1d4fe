-- Annotations that name steps their run does not have: steps count from 0, as `trajtab show` does.
--
-- Severity    warning
-- Grain       one row per annotation in force
WITH named AS (
    SELECT
        a.*,
        r.n_rows,
        list_filter(
            list_concat(coalesce(a.critical_steps, []), coalesce(a.backtrack_steps, [])),
            lambda step: step >= r.n_rows
        ) AS outside
    FROM annotations AS a
    JOIN runs AS r USING (run_key)
)
SELECT
    trajectory_id AS subject,
    format(
        'annotator {} at {}:{} names steps {}; the run''s last is {}',
        annotator_id, source_path, coalesce(source_line, 0), outside::VARCHAR, n_rows::BIGINT - 1
    ) AS detail
FROM named
WHERE len(outside) > 0
