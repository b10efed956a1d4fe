-- Trend: how the means of two buckets move together, through the tasks that both hold.
--
-- Grain       One row per metric and pair of buckets that share a task with values.
-- Parameters  Tables made for the question at hand, the first two as in aggregate.sql:
--             ranges      one row per bucket: group_id, and per metric range_NAME: lo, hi, scale
--             sums        one row per bucket and kind of run: group_id, and per metric sums_NAME,
--                         n and total
--             task_sums   one row per bucket and task: group_id, suite, task_id, and per metric
--                         task_sums_NAME, a gathered(…)
--             pairs       one row per metric and bucket that is compared: metric, group_id, before
-- Columns     metric, group_id, together: Σ_g (influence of task g before) · (influence now), where
--             a task's influence is what it moves the mean of its bucket by: Σ_i(x − mean) / N
WITH long AS (
    UNPIVOT sums ON COLUMNS('^sums_') INTO NAME metric VALUE part
),

wholes AS (
    SELECT
        group_id,
        metric[6:] AS metric,
        {'n': sum(part.n), 'total': sum(part.total)} AS whole
    FROM long
    GROUP BY ALL
),

spreads AS (
    UNPIVOT (SELECT group_id, COLUMNS('^range_') FROM ranges)
    ON COLUMNS('^range_') INTO NAME metric VALUE spread
),

tasks AS (
    UNPIVOT task_sums ON COLUMNS('^task_sums_') INTO NAME metric VALUE part
),

influences AS (
    SELECT
        w.group_id,
        w.metric,
        t.suite,
        t.task_id,
        deviation(t.part, w.whole)::DOUBLE / w.whole.n / w.whole.n / s.spread.scale AS influence
    FROM tasks AS t
    JOIN wholes AS w ON w.group_id = t.group_id AND w.metric = t.metric[11:]
    JOIN spreads AS s ON s.group_id = t.group_id AND s.metric[7:] = w.metric
    WHERE t.part.n > 0
),

products AS (
    SELECT
        pairs.metric,
        pairs.group_id,
        earlier.influence * later.influence AS product
    FROM pairs
    JOIN influences AS earlier
        ON earlier.group_id = pairs.before AND earlier.metric = pairs.metric
    JOIN influences AS later
        ON later.group_id = pairs.group_id
        AND later.metric = pairs.metric
        AND later.task_id = earlier.task_id
        AND later.suite IS NOT DISTINCT FROM earlier.suite
),

-- Sums of floats depend on their order: they become whole numbers of a unit their size allows.
-- Of values beyond 1e154 products are no doubles; nor are their squared errors, so that no interval
-- of theirs needs this sum.
units AS (
    SELECT *, scale_of(min(product) OVER bucket, max(product) OVER bucket) AS scale
    FROM products
    WHERE isfinite(product)
    WINDOW bucket AS (PARTITION BY metric, group_id)
)

SELECT
    metric,
    group_id::BIGINT AS group_id,
    (sum(fixed(product, scale))::DOUBLE / any_value(scale))::DOUBLE AS together
FROM units
GROUP BY metric, group_id
ORDER BY metric, group_id;
