-- Aggregates: how many runs have a value, its mean with a clustered standard error, its spread.
--
-- Grain       One row per group and metric, in group order and the order of the metrics asked for.
-- Parameters  Tables made for the question at hand:
--             ranges    one row per group: group_id, and per metric range_NAME, a range_of(…)
--             clusters  one row per group, task and kind of run: group_id, suite, task_id (null:
--                       runs without a task, each a cluster of its own), errored, vacuous, n_rows,
--                       and per metric sums_NAME, a summed(…)
--             measures  one row per metric: metric, place, and what its rules need to know
-- Columns     group_id, metric, n_total, n_scored, n_null, n_error, n_vacuous, mean, micro, std,
--             min, max, mean_errors_zero; for the interval: n_clusters, se2, flag, low, high
-- Rules       n_error   null values of runs whose status is error, where the metric counts them
--             se2       G/(G−1) · Σ_g(Σ_i(x − mean))² / N² over G clusters and N values
WITH long AS (
    UNPIVOT clusters ON COLUMNS('^sums_') INTO NAME metric VALUE sums
),

cluster_sums AS (
    SELECT
        group_id,
        metric[6:] AS metric,
        task_id IS NULL AS alone,
        sum(n_rows) AS n_rows,
        sum(sums.n) AS n,
        sum(sums.total) AS total,
        sum(sums.squares) AS squares,
        sum(sums.num) AS num,
        sum(sums.den) AS den,
        sum(CASE WHEN errored THEN n_rows - sums.n END) AS n_errored,
        sum(CASE WHEN vacuous THEN sums.n END) AS n_vacuous
    FROM long
    GROUP BY group_id, long.metric, suite, task_id
),

totals AS (
    SELECT
        group_id,
        metric,
        sum(n_rows) AS n_rows,
        nullif(sum(n), 0) AS n,
        sum(total) AS total,
        sum(squares) AS squares,
        sum(num) AS num,
        sum(den) AS den,
        sum(n_errored) AS n_errored,
        sum(n_vacuous) AS n_vacuous
    FROM cluster_sums
    GROUP BY group_id, metric
),

-- A cluster's Σ_i(x − mean), times N to stay whole.
deviations AS (
    SELECT
        c.group_id,
        c.metric,
        c.alone,
        c.n,
        t.n * c.total - c.n * t.total AS deviation,
        CASE WHEN c.alone THEN scatter(c.n, c.total, c.squares) END AS scatter
    FROM cluster_sums AS c
    JOIN totals AS t USING (group_id, metric)
    WHERE c.n > 0
),

-- The runs without a task stand in one row per group and metric; its n clusters of one value lie
-- around their own mean (scatter), and that mean lies off the group's (deviation² / n).
between_clusters AS (
    SELECT
        group_id,
        metric,
        sum(CASE WHEN alone THEN n ELSE 1 END) AS n_clusters,
        coalesce(sum_of_squares(CASE WHEN NOT alone THEN deviation END), 0) AS of_tasks,
        coalesce(max(CASE WHEN alone THEN deviation::DOUBLE * deviation::DOUBLE / n END), 0) AS of_alone,
        coalesce(max(scatter), 0) AS among_alone
    FROM deviations
    GROUP BY group_id, metric
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
        CASE WHEN m.needs_reference THEN coalesce(t.n_vacuous, 0) ELSE 0 END AS n_vacuous,
        t.total::DOUBLE / t.n AS mean,
        coalesce(t.total, 0)::DOUBLE AS total,
        t.num::DOUBLE / nullif(t.den, 0) AS micro,
        scatter(t.n, t.total, t.squares) / nullif(t.n - 1, 0) AS variance,
        b.n_clusters,
        b.n_clusters / nullif(b.n_clusters - 1, 0)
            * ((b.of_tasks + b.of_alone) / t.n / t.n + b.among_alone) / t.n / t.n AS se2
    FROM spreads AS s
    JOIN measures AS m ON m.metric = s.metric[7:]
    LEFT JOIN totals AS t ON t.group_id = s.group_id AND t.metric = m.metric
    LEFT JOIN between_clusters AS b ON b.group_id = s.group_id AND b.metric = m.metric
),

-- Rounding to units must not carry a mean outside its own values.
in_values AS (
    SELECT
        * REPLACE (
            greatest(lo, least(hi, mean / scale)) AS mean,
            se2 / scale / scale AS se2,
            total / scale AS total
        ),
        sqrt(variance) / scale AS std
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
