-- Score statuses: how many runs were scored, and why the others were not.
--
-- Grain       one row per status
-- Needs       the views of the workbench
SELECT
    status,
    count(*) AS n_runs
FROM scores
GROUP BY status
ORDER BY n_runs DESC, status
