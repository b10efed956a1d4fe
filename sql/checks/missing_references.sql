-- Runs and tasks whose reference the lake does not hold.
--
-- Severity    error
-- Grain       one row per run or task
-- Left out    'none': the run has no reference, and must not take its task's
WITH named AS (
    SELECT 'run ' || run_id AS subject, reference_set FROM runs
    UNION ALL
    SELECT 'task ' || task_id AS subject, reference_set FROM tasks
)
SELECT
    subject,
    format('reference_set {} has no row in refs', reference_set) AS detail
FROM named ANTI JOIN refs USING (reference_set)
WHERE reference_set <> 'none'
