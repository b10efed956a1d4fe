-- Worst runs: lowest f1 first, then highest error rate, then highest backtracking rate.
--
-- Grain       one row per run, $most at most; runs with f1 = 1 and no failed call are left out
-- Needs       the views of the workbench
-- Parameters  $most
SELECT
    run_key,
    run_id,
    agent,
    agent_version,
    model,
    suite,
    task_id,
    trial,
    run_status,
    success,
    f1,
    in_order,
    error_rate,
    backtracking_rate,
    n_calls
FROM scores
WHERE f1 < 1 OR error_rate > 0
ORDER BY
    f1 NULLS LAST,
    error_rate DESC NULLS LAST,
    backtracking_rate DESC NULLS LAST,
    n_calls DESC,
    run_id,
    run_key
LIMIT $most::BIGINT
