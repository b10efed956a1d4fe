-- Rejects: how many records could not land, by reason.
--
-- Grain       one row per reason
-- Needs       the views of the workbench
SELECT
    reason,
    count(*) AS n_records
FROM rejects
GROUP BY reason
ORDER BY n_records DESC, reason
