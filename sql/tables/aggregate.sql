-- Aggregates: how many runs have a value, its mean with a clustered standard error, its spread.
--
-- Grain       One row per group and metric, in group order and the order of the metrics asked for.
-- Parameters  Tables made for the question at hand:
--             ranges    one row per group: group_id, and per metric range_NAME: lo, hi, scale
--             sums      one row per group and kind of run: group_id, alone (without a task: a
--                       cluster of its own), errored, vacuous, n_rows, and per metric sums_NAME,
--                       n, total and squares in units of 1 / scale, lo and hi, and pooled_NAME,
--                       num and den where the metric has a value
--             betweens  one row per group: group_id, and per metric between_NAME, a
--                       between_tasks(…)
--             measures  one row per metric: metric, place, and what its rules need to know
-- Columns     group_id, metric, n_total, n_scored, n_null, n_error, n_vacuous, mean, micro, std,
--             min, max, mean_errors_zero; for the interval: n_clusters, se2, flag, low, high
-- Rules       n_error   null values of runs whose status is error, where the metric counts them
--             se2       G/(G−1) · Σ_g(Σ_i(x − mean))² / N² over G clusters and N values
WITH long AS (
    UNPIVOT sums ON COLUMNS('^sums_') INTO NAME metric VALUE part
),

pools AS (
    UNPIVOT (SELECT group_id, COLUMNS('^pooled_') FROM sums)
    ON COLUMNS('^pooled_') INTO NAME metric VALUE part
),

pooled AS (
    SELECT
        group_id,
        metric[8:] AS metric,
        sum(part.num) AS num,
        sum(part.den) AS den
    FROM pools
    GROUP BY ALL
),

totals AS (
    SELECT
        group_id,
        metric[6:] AS metric,
        sum(n_rows) AS n_rows,
        nullif(sum(part.n), 0) AS n,
        sum(part.total) AS total,
        sum(part.squares) AS squares,
        sum(CASE WHEN errored THEN n_rows - part.n END) AS n_errored,
        sum(CASE WHEN vacuous THEN part.n END) AS n_vacuous,
        {
            'n': sum(CASE WHEN alone THEN part.n END),
            'total': sum(CASE WHEN alone THEN part.total END),
            'squares': sum(CASE WHEN alone THEN part.squares END),
            'equal': min(CASE WHEN alone THEN part.lo END) = max(CASE WHEN alone THEN part.hi END)
        } AS alone
    FROM long
    GROUP BY ALL
),

-- Runs without a task are clusters of one value: they lie around their own mean (scatter), and
-- that mean lies off the group's (deviation² / n).
alone AS (
    SELECT
        group_id,
        metric,
        alone.n AS n_clusters,
        CASE WHEN alone.equal THEN 0.0 ELSE scatter(alone.n, alone.total, alone.squares) END
            AS among,
        deviation(alone, {'n': n, 'total': total})::DOUBLE ** 2 / alone.n AS off_mean
    FROM totals
    WHERE alone.n > 0
),

tasks AS (
    UNPIVOT betweens ON COLUMNS('^between_') INTO NAME metric VALUE between_tasks
),

spreads AS (
    UNPIVOT (SELECT group_id, COLUMNS('^range_') FROM ranges)
    ON COLUMNS('^range_') INTO NAME metric VALUE spread
),

in_units AS (
    SELECT
        s.group_id,
        m.*,
        s.spread.lo AS lo,
        s.spread.hi AS hi,
        s.spread.scale AS scale,
        coalesce(t.n_rows, 0) AS n_rows,
        coalesce(t.n, 0) AS n,
        CASE WHEN m.counts_errors THEN coalesce(t.n_errored, 0) ELSE 0 END AS n_errored,
        CASE WHEN m.compares_calls THEN coalesce(t.n_vacuous, 0) ELSE 0 END AS n_vacuous,
        t.total::DOUBLE / t.n AS mean,
        t.total::DOUBLE AS total,
        p.num::DOUBLE / nullif(p.den, 0) AS micro,
        CASE WHEN s.spread.lo = s.spread.hi THEN 0.0 ELSE scatter(t.n, t.total, t.squares) END
            / nullif(t.n - 1, 0) AS variance,
        coalesce(b.between_tasks.n_tasks, 0) + coalesce(a.n_clusters, 0) AS n_clusters,
        (coalesce(b.between_tasks.squares, 0) + coalesce(a.off_mean, 0)) / t.n / t.n
            + coalesce(a.among, 0) AS between_clusters
    FROM spreads AS s
    JOIN measures AS m ON m.metric = s.metric[7:]
    LEFT JOIN totals AS t ON t.group_id = s.group_id AND t.metric = m.metric
    LEFT JOIN pooled AS p ON p.group_id = s.group_id AND p.metric = m.metric
    LEFT JOIN alone AS a ON a.group_id = s.group_id AND a.metric = m.metric
    LEFT JOIN tasks AS b ON b.group_id = s.group_id AND b.metric[9:] = m.metric
),

-- Rounding to units must not carry a mean outside its own values, nor make a spread of none: where
-- values were rounded (a scale of 1 rounds nothing), a standard error within a unit is 0.
in_values AS (
    SELECT
        * REPLACE (
            greatest(lo, least(hi, mean / scale)) AS mean,
            total / scale AS total
        ),
        nullif(sqrt(variance) / scale, 'inf'::DOUBLE) AS std,
        n_clusters / nullif(n_clusters - 1, 0)
            * CASE WHEN scale <> 1 AND between_clusters <= n * n THEN 0 ELSE between_clusters END
            / n / n / scale / scale AS se2
    FROM in_units
)

SELECT
    group_id,
    metric,
    n_rows::BIGINT AS n_total,
    n::BIGINT AS n_scored,
    (n_rows - n - n_errored)::BIGINT AS n_null,
    n_errored::BIGINT AS n_error,
    n_vacuous::BIGINT AS n_vacuous,
    mean::DOUBLE AS mean,
    micro::DOUBLE AS micro,
    std::DOUBLE AS std,
    lo::DOUBLE AS min,
    hi::DOUBLE AS max,
    CASE
        WHEN NOT errors_are_zero THEN NULL
        WHEN n_errored = 0 THEN mean
        ELSE total / (n + n_errored)
    END::DOUBLE AS mean_errors_zero,
    n_clusters::BIGINT AS n_clusters,
    se2::DOUBLE AS se2,
    flag,
    low,
    high
FROM in_values
ORDER BY group_id, place;
