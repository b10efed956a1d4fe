-- Batches whose files were recognised and held neither a run nor a task.
--
-- Severity    warning
-- Grain       one row per batch
SELECT
    batch AS subject,
    format('no run in {}', sources) AS detail
FROM batches
WHERE n_runs = 0 AND n_tasks = 0 AND duplicates = 0
