-- Runs that end before they start; their wall time is null.
--
-- Severity    warning
-- Grain       one row per run
SELECT
    run_id AS subject,
    format('started {}, ended {}', started_at::VARCHAR, ended_at::VARCHAR) AS detail
FROM runs
WHERE ended_at < started_at
