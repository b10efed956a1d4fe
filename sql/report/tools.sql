-- Tools: how often each was called, how often it failed or was repeated, how long it took.
--
-- Grain       one row per tool, most called first
-- Needs       the views of the workbench
-- Parameters  $window, $unit: how many rows back a repeat counts, among decision steps ('steps')
--             or tool calls ('calls')
-- Columns     tool_name, n_calls, n_errors, error_rate, n_backtracks, p50_ms, p95_ms
-- Nulls       n_errors, error_rate: no call of the tool says whether it failed.
--             n_backtracks: no call of the tool has captured arguments.
--             p50_ms, p95_ms: no call of the tool has a duration.
WITH decisions AS (
    SELECT
        *,
        count(*) FILTER ($unit = 'steps' OR kind = 'tool_call')
            OVER (PARTITION BY run_key ORDER BY step_index) AS place
    FROM steps
    WHERE kind <> 'message'
),
placed AS (
    SELECT
        *,
        place - lag(place) OVER (PARTITION BY run_key, call_key ORDER BY step_index) AS distance
    FROM decisions
    WHERE kind = 'tool_call'
),
counted AS (
    SELECT
        tool_name,
        count(*) AS n_calls,
        CASE WHEN count(is_error) > 0 THEN count(*) FILTER (is_error) END AS n_errors,
        CASE WHEN count(call_key) > 0
             THEN count(*) FILTER (call_key IS NOT NULL AND distance <= $window) END AS n_backtracks,
        quantile_cont(duration_ms, 0.5) AS p50_ms,
        quantile_cont(duration_ms, 0.95) AS p95_ms
    FROM placed
    GROUP BY tool_name
)
SELECT
    tool_name,
    n_calls,
    n_errors,
    ratio(n_errors, n_calls) AS error_rate,
    n_backtracks,
    p50_ms,
    p95_ms
FROM counted
ORDER BY n_calls DESC, tool_name
