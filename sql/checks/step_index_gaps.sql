-- Runs whose step_index does not count 0, 1, 2 and so on.
--
-- Severity    error
-- Grain       one row per run
SELECT
    any_value(run_id) AS subject,
    format(
        'rows: {}; different step_index: {}, from {} to {}',
        count(*), count(DISTINCT step_index), min(step_index), max(step_index)
    ) AS detail
FROM steps
GROUP BY run_key
HAVING min(step_index) <> 0
    OR max(step_index)::BIGINT <> count(*) - 1
    OR count(DISTINCT step_index) <> count(*)
