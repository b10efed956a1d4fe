-- Batches without current scores: tables leave their runs out until `trajtab score`.
--
-- Severity    warning
-- Grain       one row per batch
SELECT
    batch AS subject,
    format('runs: {}, of {}', n_runs, sources) AS detail
FROM batches
WHERE NOT scored
