-- Trials of parts, added up: the columns of passk.sql.
--
-- Grain       One row per arm and task.
-- Parameters  counts    one row per part, arm and task: the columns of passk.sql
--             ranges    one row per part, arm, task and range of trial numbers: low, high
-- Columns     group_id, task_id, n_trials, n_error, n_null, n_passed, n_repeated
-- Rules       A number that two parts have is repeated: of every range, taken from the lowest,
--             what is not beyond the ranges before it.
WITH ranges_so_far AS (
    SELECT
        group_id,
        task_id,
        low,
        high,
        max(high) OVER (
            PARTITION BY group_id, task_id ORDER BY low, high
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached
    FROM ranges
),

again AS (
    SELECT
        group_id,
        task_id,
        sum(greatest(0, least(high, reached) - low + 1)) AS n_again
    FROM ranges_so_far
    WHERE reached IS NOT NULL
    GROUP BY group_id, task_id
)

SELECT
    counts.group_id::BIGINT AS group_id,
    counts.task_id,
    sum(n_trials)::BIGINT AS n_trials,
    sum(n_error)::BIGINT AS n_error,
    sum(n_null)::BIGINT AS n_null,
    sum(n_passed)::BIGINT AS n_passed,
    (sum(n_repeated) + coalesce(any_value(n_again), 0))::BIGINT AS n_repeated
FROM counts LEFT JOIN again
    ON again.group_id = counts.group_id AND again.task_id = counts.task_id
GROUP BY counts.group_id, counts.task_id
ORDER BY counts.group_id, counts.task_id;
