-- Runs whose tokens, costs or durations add up to more than their column holds: that sum is null.
--
-- Severity    warning
-- Grain       one row per run
WITH sums AS (
    SELECT
        any_value(run_id) AS run_id,
        coalesce(sum(input_tokens), 0) AS input_tokens,
        coalesce(sum(output_tokens), 0) AS output_tokens,
        coalesce(sum(cost_usd), 0) AS cost_usd,
        coalesce(sum(duration_ms), 0) AS duration_ms
    FROM steps
    GROUP BY run_key
)

SELECT
    run_id AS subject,
    format(
        'input_tokens: {}, output_tokens: {}, cost_usd: {}, duration_ms: {}',
        input_tokens, output_tokens, cost_usd, duration_ms
    ) AS detail
FROM sums
WHERE input_tokens + output_tokens > 9223372036854775807
    OR NOT isfinite(cost_usd)
    OR NOT isfinite(duration_ms)
