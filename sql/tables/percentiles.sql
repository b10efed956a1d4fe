-- Percentiles: the quantiles of one metric per group, exact, from its values counted.
--
-- Purpose     Metrics have few distinct values, so that counting them is less than sorting runs;
--             where all values differ, counting and ordering spill to disk within memory_limit.
-- Grain       One row per group.
-- Parameters  Tables made for the question at hand:
--             spread_over  one row per group: group_id
--             counted      one row per group and value: group_id, value (a DOUBLE), n
--             $quantiles   a list of shares from 0 to 1
-- Columns     group_id, n_scored, quantiles (a list, null where n_scored is 0)
-- Rules       Of n sorted values, the q-quantile is at place q·(n − 1), counted from 0; between two
--             places it is the weighted mean of both.
WITH ranked AS (
    SELECT
        group_id,
        value,
        sum(n) OVER (PARTITION BY group_id ORDER BY value) AS upto,
        n
    FROM counted
    WHERE value IS NOT NULL
),

sizes AS (
    SELECT group_id, sum(n) AS size
    FROM ranked
    GROUP BY group_id
),

asked AS (
    SELECT
        unnest($quantiles::DOUBLE[]) AS quantile,
        generate_subscripts($quantiles::DOUBLE[], 1) AS place
),

places AS (
    SELECT
        s.group_id,
        a.place,
        (s.size - 1) * a.quantile AS spot
    FROM sizes AS s
    CROSS JOIN asked AS a
),

-- The values of ranks upto − n to upto − 1 are the same.
ends AS (
    SELECT
        p.group_id,
        p.place,
        p.spot,
        min(r.value) AS below,
        max(r.value) AS above
    FROM places AS p
    JOIN ranked AS r
        ON r.group_id = p.group_id
        AND r.upto > floor(p.spot)
        AND r.upto - r.n <= ceil(p.spot)
    GROUP BY ALL
),

quantiles AS (
    SELECT
        group_id,
        list(
            CASE
                WHEN isfinite(above - below) THEN below + (above - below) * share
                ELSE below * (1 - share) + above * share  -- further apart than a double holds
            END
            ORDER BY place
        ) AS quantiles
    FROM (SELECT *, spot - floor(spot) AS share FROM ends)
    GROUP BY group_id
)

SELECT
    o.group_id::BIGINT AS group_id,
    coalesce(s.size, 0)::BIGINT AS n_scored,
    q.quantiles::DOUBLE[] AS quantiles
FROM spread_over AS o
LEFT JOIN sizes AS s ON s.group_id = o.group_id
LEFT JOIN quantiles AS q ON q.group_id = o.group_id
ORDER BY o.group_id;
