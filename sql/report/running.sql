-- Running shares: which share of the values is at most so large.
--
-- Every point is exact. The first and the last of each 1/$points of the values are kept, so that
-- between two of them lie fewer than that, and no jump is drawn in the wrong place.
--
-- Grain       one row per group and kept value, in order; group 0 is all runs together
-- Needs       counted: group_id (from 1; 0: in none of the groups shown), value, n
-- Parameters  $points
WITH parts AS (
    SELECT 0 AS group_id, value, sum(n) AS n
    FROM counted
    GROUP BY value
    UNION ALL
    SELECT group_id, value, n
    FROM counted
    WHERE group_id > 0
),

added AS (
    SELECT
        group_id,
        value,
        sum(n) OVER (PARTITION BY group_id ORDER BY value) AS upto,
        sum(n) OVER (PARTITION BY group_id) AS total,
        upto * $points::BIGINT // total AS part
    FROM parts
)

SELECT
    group_id::BIGINT AS group_id,
    value,
    upto::BIGINT AS n_upto,
    total::BIGINT AS n_values
FROM added
QUALIFY
    row_number() OVER (PARTITION BY group_id, part ORDER BY value) = 1
    OR row_number() OVER (PARTITION BY group_id, part ORDER BY value DESC) = 1
ORDER BY group_id, value
