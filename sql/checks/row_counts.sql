-- Runs that hold another number of steps than they say.
--
-- Severity    error
-- Grain       one row per run
SELECT
    r.run_id AS subject,
    format('n_rows is {}, steps holds {}', r.n_rows, coalesce(s.n, 0)) AS detail
FROM runs AS r
LEFT JOIN (SELECT run_key, count(*) AS n FROM steps GROUP BY run_key) AS s USING (run_key)
WHERE r.n_rows <> coalesce(s.n, 0)
