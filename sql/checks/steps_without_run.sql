-- Steps whose run is not there.
--
-- Severity    error
-- Grain       one row per run that the steps name
SELECT
    any_value(run_id) AS subject,
    format('steps: {}, run_key {}', count(*), run_key) AS detail
FROM steps ANTI JOIN runs USING (run_key)
GROUP BY run_key
