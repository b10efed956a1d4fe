-- Bins: how many values lie in each of $n_bins intervals of one width.
--
-- An interval holds its lower edge and not its upper one; the first also holds what is below it,
-- the last what is above.
--
-- Grain       one row per group and interval with a value; group 0 is all runs together
-- Needs       counted: group_id (from 1; 0: in none of the groups shown), value, n
-- Parameters  $low, $width, $n_bins
WITH placed AS (
    SELECT
        group_id,
        n,
        -- A hair more, so that 0.15 is on its edge and not below it.
        floor((value - $low::DOUBLE) / $width::DOUBLE + 1e-9) AS place
    FROM counted
),

held AS (
    SELECT
        group_id,
        n,
        least(greatest(place, 0), $n_bins::BIGINT - 1)::BIGINT AS bin
    FROM placed
)

SELECT 0::BIGINT AS group_id, bin, sum(n)::BIGINT AS n_values
FROM held
GROUP BY bin
UNION ALL
SELECT group_id::BIGINT, bin, sum(n)::BIGINT
FROM held
WHERE group_id > 0
GROUP BY group_id, bin
ORDER BY group_id, bin
