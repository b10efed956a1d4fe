-- Trials of a task that one arm holds more than once: pass@k refuses them.
--
-- Severity    warning
-- Grain       one row per arm (agent, agent_version, model, suite), task and trial; the first runs named
SELECT
    format('{} trial {}', task_id, trial) AS subject,
    format(
        'suite {}, agent {}, version {}, model {}: {}{}',
        coalesce(suite, '–'),
        coalesce(agent, '–'),
        coalesce(agent_version, '–'),
        coalesce(model, '–'),
        array_to_string(
            list(
                format('run {} of {}:{}', run_id, source_path, coalesce(source_line, 0))
                ORDER BY run_id, source_path, source_line, run_key
            )[:3],
            ', '
        ),
        CASE WHEN count(*) > 3 THEN format(' and {} more', count(*) - 3) ELSE '' END
    ) AS detail
FROM runs
WHERE task_id IS NOT NULL AND trial IS NOT NULL
GROUP BY suite, agent, agent_version, model, task_id, trial
HAVING count(*) > 1
