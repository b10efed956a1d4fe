-- Records that could not land.
--
-- Severity    warning
-- Grain       one row per reason
SELECT
    reason AS subject,
    format(
        'records: {}; the first at {}',
        count(*),
        min_by(
            format('{}:{}', source_path, coalesce(line, 0)), (source_path, line, byte_offset)
        )
    ) AS detail
FROM rejects
GROUP BY reason
