-- Annotations that the same annotator replaced by a later word on the same run.
--
-- Severity    info
-- Grain       one row per replaced annotation
SELECT
    trajectory_id AS subject,
    format(
        'annotator {} said {} at {}:{}, and has said otherwise since',
        annotator_id, overall_quality, source_path, coalesce(source_line, 0)
    ) AS detail
FROM every_annotation
WHERE nth_latest > 1
