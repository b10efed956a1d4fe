-- Runs that were left out because the lake, or the same file, held them already.
--
-- Severity    info
-- Grain       one row per batch
SELECT
    batch AS subject,
    format('runs left out: {}, of {}', duplicates, sources) AS detail
FROM batches
WHERE duplicates > 0
