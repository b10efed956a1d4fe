-- Copies of one run of which neither contains the other's calls: all of them count.
--
-- Severity    warning
-- Grain       one row per run, which names the first five copies
SELECT
    any_value(run_id) AS subject,
    format(
        '{} copies: {}{}',
        count(*),
        array_to_string(
            list(
                format('{}:{}', source_path, coalesce(source_line, 0))
                ORDER BY source_path, source_line, run_key
            )[:5],
            ', '
        ),
        CASE WHEN count(*) > 5 THEN format(', {} more', count(*) - 5) ELSE '' END
    ) AS detail
FROM runs
GROUP BY identity
HAVING count(*) > 1
