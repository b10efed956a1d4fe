-- Run ids that several arms use: run_key tells their runs apart, run_id does not.
--
-- Severity    info
-- Grain       one row per run id
SELECT
    run_id AS subject,
    format('{} arms use this id', count(*)) AS detail
FROM (SELECT DISTINCT run_id, agent, agent_version, model, suite FROM runs)
GROUP BY run_id
HAVING count(*) > 1
