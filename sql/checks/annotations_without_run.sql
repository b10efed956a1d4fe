-- Annotations that mean no run of the lake, or more than one: no figure counts them for a run.
--
-- Severity    warning
-- Grain       one row per annotation in force
SELECT
    trajectory_id AS subject,
    format(
        '{} of the lake''s runs are meant by annotator {} at {}:{}',
        CASE WHEN n_runs = 0 THEN 'none' ELSE n_runs::VARCHAR END,
        annotator_id, source_path, coalesce(source_line, 0)
    ) AS detail
FROM every_annotation
WHERE nth_latest = 1 AND run_key IS NULL
