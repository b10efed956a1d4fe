-- The tasks of the arms of a comparison, numbered.
--
-- Grain       One row per task of any arm.
-- Parameters  parts     one row per task and kind of run (and trial): suite, task_id, alone (the
--                       run_key of a run without a task), run_id (of such a run)
-- Columns     task, suite, task_id, run_id, alone
-- Rules       A run without a task is a task of its own, which only the same run shares.
CREATE OR REPLACE TEMP TABLE tasks AS
WITH attempted AS (
    SELECT DISTINCT suite, task_id, run_id, alone
    FROM parts
)

SELECT
    row_number() OVER (
        ORDER BY suite NULLS LAST, task_id NULLS LAST, run_id, alone
    )::INTEGER AS task,
    *
FROM attempted;
