-- The runs of the arms of a comparison, with their tasks as numbers.
--
-- Grain       tasks: one row per task of any arm; members: one row per arm and run.
-- Parameters  picks     view, one row per arm and run: side, run_key, suite, task_id, run_id, trial
-- Columns     tasks: task, suite, task_id, run_id (of a run without a task)
--             members: side, run_key, task, trial
-- Rules       A run without a task is a task of its own, which only the same run shares.
CREATE OR REPLACE TEMP TABLE tasks AS
WITH attempted AS (
    SELECT DISTINCT
        suite,
        task_id,
        CASE WHEN task_id IS NULL THEN run_key END AS alone,
        CASE WHEN task_id IS NULL THEN run_id END AS run_id
    FROM picks
)

SELECT
    row_number() OVER (
        ORDER BY suite NULLS LAST, task_id NULLS LAST, run_id, alone
    )::INTEGER AS task,
    suite,
    task_id,
    run_id,
    alone
FROM attempted;

CREATE OR REPLACE TEMP TABLE members AS
SELECT
    p.side,
    p.run_key,
    t.task,
    p.trial
FROM picks AS p
JOIN tasks AS t
    ON t.suite IS NOT DISTINCT FROM p.suite
    AND t.task_id IS NOT DISTINCT FROM p.task_id
    AND t.alone IS NOT DISTINCT FROM CASE WHEN p.task_id IS NULL THEN p.run_key END;
