-- Overview: how much a lake holds, and which columns tell its runs apart.
--
-- Grain       one row
-- Needs       the views of the workbench
-- Columns     n_runs, n_unscored, n_calls, n_errors, n_tasks; first and last started_at; n_days they fall
--             on, n_timeless without; suites; and for
--             agent, agent_version and model how many values they have, null counting as one
SELECT
    count(*) AS n_runs,
    (SELECT count(*) FROM runs ANTI JOIN scores USING (run_key)) AS n_unscored,
    (SELECT count(*) FROM steps WHERE kind = 'tool_call') AS n_calls,
    (SELECT count(*) FROM steps WHERE kind = 'tool_call' AND is_error) AS n_errors,
    count(DISTINCT {'suite': suite, 'task': task_id}) FILTER (task_id IS NOT NULL) AS n_tasks,
    min(started_at) AS first_started,
    max(started_at) AS last_started,
    count(DISTINCT started_at::DATE) AS n_days,
    count(*) - count(started_at) AS n_timeless,
    coalesce(list(DISTINCT suite ORDER BY suite) FILTER (suite IS NOT NULL), [])::VARCHAR[] AS suites,
    count(DISTINCT agent) + (count(*) > count(agent))::BIGINT AS agent,
    count(DISTINCT agent_version) + (count(*) > count(agent_version))::BIGINT AS agent_version,
    count(DISTINCT model) + (count(*) > count(model))::BIGINT AS model
FROM runs
