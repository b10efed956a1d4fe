-- Copies of one run of which neither contains the other's calls: all of them count.
--
-- Severity    warning
-- Grain       one row per run
SELECT
    any_value(run_id) AS subject,
    format(
        '{} copies: {}',
        count(*),
        string_agg(
            format('{}:{}', source_path, coalesce(source_line, 0)),
            ', ' ORDER BY source_path, source_line, run_key
        )
    ) AS detail
FROM runs
GROUP BY identity
HAVING count(*) > 1
