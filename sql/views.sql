-- The views of a lake, over what has landed in it.
--
-- Grain       runs, scores: one row per run; steps: one per step; calls: one per tool call;
--             tasks: one per (suite, task_id); refs: one per expected call; rejects: one per
--             record that could not land; annotations: one per run and annotator; judgments: one
--             per run or step judged, rubric, repeat and order.
-- Needs       landed_runs, landed_steps, landed_tasks, landed_refs, landed_scores,
--             landed_call_scores, landed_annotations, landed_judgments, landed_rejects: the rows of
--             all batches; landing counts the batches of tasks, of annotations and of judgments.
--             superseded: the run_keys of runs that a later landing replaced.
--             opinions: run_key and one column per opinion, of judges and of people.
-- Joins       run_key joins runs, steps, calls, scores, annotations and judgments exactly; run_id
--             need not be unique.

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

-- Every annotation landed, with the run it means: the only one in force of that run_id or
-- source_id whose task, agent, version and model are those it names. n_runs tells of none or
-- several. nth_latest is 1 for an annotator's latest word on a run.
CREATE OR REPLACE VIEW every_annotation AS
WITH same_id AS (
    SELECT a.landing, a.position, r.run_key, a.task_id = r.task_id AS task, a.agent = r.agent AS agent,
        a.agent_version = r.agent_version AS version, a.model = r.model AS model
    FROM landed_annotations AS a
    JOIN runs AS r ON r.run_id = a.trajectory_id
    UNION
    SELECT a.landing, a.position, r.run_key, a.task_id = r.task_id, a.agent = r.agent,
        a.agent_version = r.agent_version, a.model = r.model
    FROM landed_annotations AS a
    JOIN runs AS r ON r.source_id = a.trajectory_id
),
meant AS (
    SELECT landing, position, count(*) AS n_runs, min(run_key) AS run_key
    FROM same_id
    WHERE coalesce(task, true) AND coalesce(agent, true) AND coalesce(version, true)
        AND coalesce(model, true)
    GROUP BY landing, position
),
told AS (
    SELECT
        a.*,
        coalesce(m.n_runs, 0) AS n_runs,
        CASE WHEN m.n_runs = 1 THEN m.run_key END AS run_key
    FROM landed_annotations AS a
    LEFT JOIN meant AS m USING (landing, position)
)
SELECT
    *,
    row_number() OVER (
        PARTITION BY
            annotator_id,
            run_key,
            -- Without a run, what is said of it must do.
            CASE WHEN run_key IS NULL THEN [trajectory_id, task_id, agent, agent_version, model] END
        ORDER BY landing DESC, position DESC
    ) AS nth_latest
FROM told;

CREATE OR REPLACE VIEW annotations AS
SELECT * EXCLUDE (landing, position, content_key, n_runs, nth_latest)
FROM every_annotation
WHERE nth_latest = 1;

-- Of a question that was answered more than once the latest answer counts, a failed request only
-- where there is no other.
CREATE OR REPLACE VIEW judgments AS
SELECT * EXCLUDE (landing)
FROM landed_judgments ANTI JOIN superseded USING (run_key)
QUALIFY row_number() OVER (
    PARTITION BY run_key, step_index, rubric_hash, repeat, swapped
    ORDER BY null_reason IS NOT DISTINCT FROM 'request_failed', landing DESC
) = 1;
