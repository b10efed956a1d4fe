-- The views of a lake, over what has landed in it.
--
-- Grain       runs, scores: one row per run; steps: one per step; calls: one per tool call;
--             tasks: one per (suite, task_id); refs: one per expected call; rejects: one per
--             record that could not land; judgments: one per run or step judged, rubric, repeat
--             and order.
-- Needs       landed_runs, landed_steps, landed_tasks, landed_refs, landed_scores,
--             landed_call_scores, landed_rejects, landed_judgments: the rows of all batches;
--             landing counts the batches of tasks and of judgments.
--             superseded: the run_keys of runs that a later landing replaced.
--             opinions: run_key and one column per opinion, of judges and of people.
-- Joins       run_key joins runs, steps, calls and scores exactly; run_id need not be unique.

CREATE OR REPLACE VIEW runs AS
FROM landed_runs ANTI JOIN superseded USING (run_key);

CREATE OR REPLACE VIEW steps AS
FROM landed_steps ANTI JOIN superseded USING (run_key);

-- What scoring says of a call stands beside it, null while it is unscored.
CREATE OR REPLACE VIEW calls AS
SELECT
    s.*,
    c.is_backtrack,
    c.is_retry,
    c.in_loop,
    c.expected_position,
    c.output_used
FROM steps AS s
LEFT JOIN landed_call_scores AS c USING (run_key, step_index)
WHERE s.kind = 'tool_call';

-- Of a task that landed more than once the latest row counts.
CREATE OR REPLACE VIEW tasks AS
SELECT * EXCLUDE (landing)
FROM landed_tasks
QUALIFY row_number() OVER (PARTITION BY suite, task_id ORDER BY landing DESC) = 1;

CREATE OR REPLACE VIEW refs AS
FROM landed_refs;

CREATE OR REPLACE VIEW scores AS
FROM landed_scores
ANTI JOIN superseded USING (run_key)
LEFT JOIN opinions USING (run_key);

CREATE OR REPLACE VIEW rejects AS
FROM landed_rejects;

-- Of a question that was answered more than once the latest answer counts, a failed request only
-- where there is no other.
CREATE OR REPLACE VIEW judgments AS
SELECT * EXCLUDE (landing)
FROM landed_judgments ANTI JOIN superseded USING (run_key)
QUALIFY row_number() OVER (
    PARTITION BY run_key, step_index, rubric_hash, repeat, swapped
    ORDER BY null_reason IS NOT DISTINCT FROM 'request_failed', landing DESC
) = 1;
