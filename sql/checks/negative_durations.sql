-- Steps of negative duration; landing makes them null, so another writer left these.
--
-- Severity    error
-- Grain       one row per run
SELECT
    any_value(run_id) AS subject,
    format('steps: {}, the first at step_index {}', count(*), min(step_index)) AS detail
FROM steps
WHERE duration_ms < 0
GROUP BY run_key
