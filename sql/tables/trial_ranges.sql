-- Trial numbers: which ones a task has in an arm, as ranges without gaps.
--
-- Grain       One row per arm, task and range.
-- Parameters  trials    one row per run of a task: group_id (the arm), task_id, trial
-- Columns     group_id, task_id, low, high (both are there)
-- Rules       a number that is there twice is in one range, once; trials without a number in none
SELECT
    group_id,
    task_id,
    min(trial) AS low,
    max(trial) AS high
FROM (
    SELECT
        group_id,
        task_id,
        trial,
        trial - row_number() OVER (PARTITION BY group_id, task_id ORDER BY trial) AS island
    FROM (
        SELECT DISTINCT
            group_id,
            task_id,
            trial::BIGINT AS trial
        FROM trials
        WHERE trial IS NOT NULL
    )
)
GROUP BY group_id, task_id, island;
