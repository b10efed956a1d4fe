-- Oracles: by whose word the fewest steps of a run are known.
--
-- Grain       one row per source: task, reference, estimate
-- Needs       the views of the workbench
SELECT
    min_steps_source AS source,
    count(*) AS n_runs
FROM scores
WHERE min_steps_source IS NOT NULL
GROUP BY source
ORDER BY n_runs DESC, source
