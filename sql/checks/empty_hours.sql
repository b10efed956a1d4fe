-- An hour in which no run started, between two hours in which some did: was a log lost?
--
-- Severity    warning
-- Grain       one row per hour, UTC
WITH hours AS (
    SELECT date_trunc('hour', started_at) AS hour, count(*) AS n
    FROM runs
    WHERE started_at IS NOT NULL
    GROUP BY hour
),
neighbours AS (
    SELECT
        hour,
        n,
        lead(hour) OVER (ORDER BY hour) AS next_hour,
        lead(n) OVER (ORDER BY hour) AS next_n
    FROM hours
)
SELECT
    strftime(hour + INTERVAL 1 HOUR, '%Y-%m-%d %H:00 UTC') AS subject,
    format('0 runs; {} the hour before, {} the hour after', n, next_n) AS detail
FROM neighbours
WHERE next_hour = hour + INTERVAL 2 HOUR
