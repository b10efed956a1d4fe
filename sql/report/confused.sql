-- Confused calls: for each expected call that no call matched, what was called in its place.
--
-- Of what matched nothing, calls of one tool face each other first (its arguments differ), then the
-- rest in order; both only between the same two matched calls.
--
-- Grain       one row per expected tool and the tool called instead
-- Needs       the views of the workbench
-- Parameters  $actors: whose calls count; null: everybody's
-- Columns     expected, actual (null: nothing was called there), n_calls, n_runs
WITH compared AS (
    SELECT
        scores.run_key,
        scores.reference_id,
        coalesce(runs.reference_set, tasks.reference_set) AS reference_set
    FROM scores
    JOIN runs USING (run_key)
    LEFT JOIN tasks
        ON tasks.task_id = runs.task_id
        AND tasks.suite IS NOT DISTINCT FROM runs.suite
    WHERE scores.status = 'scored' AND scores.recall < 1
),

made AS (
    SELECT
        calls.run_key,
        calls.step_index,
        calls.tool_name,
        calls.expected_position,
        last_value(calls.expected_position IGNORE NULLS) OVER (
            PARTITION BY calls.run_key ORDER BY calls.step_index
        ) AS after
    FROM calls
    SEMI JOIN compared USING (run_key)
    WHERE $actors::VARCHAR[] IS NULL OR list_contains($actors::VARCHAR[], coalesce(calls.actor, 'agent'))
),

wanted AS (
    SELECT
        compared.run_key,
        refs.position,
        refs.tool_name,
        coalesce(refs.optional, false) AS optional,
        made.run_key IS NOT NULL AS met,
        last_value(made.expected_position IGNORE NULLS) OVER (
            PARTITION BY compared.run_key ORDER BY refs.position
        ) AS after
    FROM compared
    JOIN refs USING (reference_set, reference_id)
    LEFT JOIN made
        ON made.run_key = compared.run_key
        AND made.expected_position = refs.position
    WHERE refs.position IS NOT NULL
),

missing AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY run_key, after, tool_name ORDER BY position) AS nth
    FROM wanted
    WHERE NOT met AND NOT optional
),

extra AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY run_key, after, tool_name ORDER BY step_index) AS nth
    FROM made
    WHERE expected_position IS NULL
),

left_missing AS (
    SELECT
        missing.*,
        row_number() OVER (PARTITION BY run_key, missing.after ORDER BY position) AS place
    FROM missing
    ANTI JOIN extra
        ON extra.run_key = missing.run_key
        AND extra.after IS NOT DISTINCT FROM missing.after
        AND extra.tool_name = missing.tool_name
        AND extra.nth = missing.nth
),

left_extra AS (
    SELECT
        extra.*,
        row_number() OVER (PARTITION BY run_key, extra.after ORDER BY step_index) AS place
    FROM extra
    ANTI JOIN missing
        ON missing.run_key = extra.run_key
        AND missing.after IS NOT DISTINCT FROM extra.after
        AND missing.tool_name = extra.tool_name
        AND missing.nth = extra.nth
),

faced AS (
    SELECT run_key, tool_name AS expected, tool_name AS actual
    FROM missing
    ANTI JOIN left_missing USING (run_key, position)
    UNION ALL
    SELECT left_missing.run_key, left_missing.tool_name, left_extra.tool_name
    FROM left_missing
    LEFT JOIN left_extra
        ON left_extra.run_key = left_missing.run_key
        AND left_extra.after IS NOT DISTINCT FROM left_missing.after
        AND left_extra.place = left_missing.place
)

SELECT
    expected,
    actual,
    count(*) AS n_calls,
    count(DISTINCT run_key) AS n_runs
FROM faced
GROUP BY expected, actual
ORDER BY n_calls DESC, expected, actual NULLS LAST
