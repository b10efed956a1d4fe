-- Runs that a later landing replaced by a longer, finished or merged copy; readers skip them.
--
-- Severity    info
-- Grain       one row per replaced copy
SELECT
    r.run_id AS subject,
    format(
        '{} rows of {}:{}, replaced by batch {}',
        r.n_rows, r.source_path, coalesce(r.source_line, 0), p.replaced_by
    ) AS detail
FROM replacements AS p
JOIN landed_runs AS r USING (run_key)
