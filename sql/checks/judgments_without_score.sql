-- Questions to a model judge whose answer gives no score.
--
-- Severity    info
-- Grain       one row per rubric and reason
SELECT
    rubric AS subject,
    format('{}: {} questions', null_reason, count(DISTINCT custom_id)) AS detail
FROM judgments
WHERE score IS NULL
GROUP BY rubric, null_reason
