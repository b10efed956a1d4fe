-- Tools: how often each was called, how often it failed or was repeated, how long it took.
--
-- Grain       one row per tool, most called first
-- Needs       the views of the workbench
-- Columns     tool_name, n_calls, n_errors, error_rate, n_backtracks, p25_ms, p50_ms, p75_ms,
--             p95_ms, n_not_captured: calls without a word of their arguments
-- Nulls       n_errors, error_rate: no call of the tool says whether it failed.
--             n_backtracks: no call of the tool is scored, or none in a run whose arguments were
--             all captured.
--             p25_ms and so on: no call of the tool has a duration.
WITH counted AS (
    SELECT
        tool_name,
        count(*) AS n_calls,
        CASE WHEN count(is_error) > 0 THEN count(*) FILTER (is_error) END AS n_errors,
        CASE WHEN count(is_backtrack) > 0 THEN count(*) FILTER (is_backtrack) END AS n_backtracks,
        count(*) FILTER (args_status = 'not_captured') AS n_not_captured,
        quantile_cont(duration_ms, [0.25, 0.5, 0.75, 0.95]) AS spread
    FROM calls
    GROUP BY tool_name
)
SELECT
    tool_name,
    n_calls,
    n_errors,
    ratio(n_errors, n_calls) AS error_rate,
    n_backtracks,
    spread[1] AS p25_ms,
    spread[2] AS p50_ms,
    spread[3] AS p75_ms,
    spread[4] AS p95_ms,
    n_not_captured
FROM counted
ORDER BY n_calls DESC, tool_name
