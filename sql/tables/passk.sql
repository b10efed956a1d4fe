-- Trials: how many a task has in an arm, and how many of them pass.
--
-- Grain       One row per arm and task.
-- Parameters  trials    one row per run of a task: group_id (the arm), task_id, trial, errored
--                       (infrastructure failed), passed (null: nobody can tell)
-- Columns     group_id, task_id, n_trials, n_error, n_null, n_passed,
--             n_repeated (trials beyond the first of their number)
-- Rules       n_trials = n_error + n_null + the trials told, passed or not; an errored trial is
--             an error whatever else is known of it
SELECT
    group_id::BIGINT AS group_id,
    task_id,
    count(*)::BIGINT AS n_trials,
    count(*) FILTER (errored)::BIGINT AS n_error,
    count(*) FILTER (NOT errored AND passed IS NULL)::BIGINT AS n_null,
    count(*) FILTER (NOT errored AND passed)::BIGINT AS n_passed,
    (count(trial) - count(DISTINCT trial))::BIGINT AS n_repeated
FROM trials
GROUP BY group_id, task_id
ORDER BY group_id, task_id;
