-- Uncaptured arguments: which tools were called without a word of their arguments.
--
-- Grain       one row per tool with such a call
-- Needs       the views of the workbench
SELECT
    tool_name,
    count(*) FILTER (args_status = 'not_captured') AS n_not_captured,
    count(*) AS n_calls,
    count(DISTINCT run_key) FILTER (args_status = 'not_captured') AS n_runs
FROM calls
GROUP BY tool_name
HAVING n_not_captured > 0
ORDER BY n_not_captured DESC, tool_name
