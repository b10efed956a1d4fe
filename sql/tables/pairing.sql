-- Pairs: per metric and task, the mean of each arm and the difference between them.
--
-- Grain       One row per metric and task that an arm attempts, in the order of the metrics asked
--             for, then of tasks.
-- Parameters  Tables made for the question at hand:
--             units    one row per arm and task (or trial): side (0 baseline, 1 candidate), task,
--                      trial (null where trials are not paired), n_runs, and per metric
--                      part_NAME, a part(…)
--             places   one row per metric: place, metric, scale
--             $by_trial  are trials paired?
-- Columns     place, metric, task; of each arm (baseline_…, candidate_…):
--             runs     its runs of the task
--             lost     those without a value by their status, or because they are not scored
--             found    those with a value
--             n, total, squares  the values compared, in units of 1 / scale
--             mean     their mean
--             and difference = baseline mean − candidate mean, null where an arm has none; scale
-- Rules       Paired by trial, a trial is compared where both arms have a value for its number.
WITH long AS (
    UNPIVOT units ON COLUMNS('^part_') INTO NAME metric VALUE part
),

sides AS (
    SELECT
        metric[6:] AS metric,
        task,
        trial,
        coalesce(max(CASE WHEN side = 0 THEN n_runs END), 0) AS baseline_runs,
        coalesce(max(CASE WHEN side = 1 THEN n_runs END), 0) AS candidate_runs,
        any_value(CASE WHEN side = 0 THEN part END) AS baseline,
        any_value(CASE WHEN side = 1 THEN part END) AS candidate
    FROM long
    GROUP BY metric, task, trial
),

kept AS (
    SELECT
        *,
        NOT $by_trial OR coalesce(baseline.n > 0 AND candidate.n > 0, false) AS compared
    FROM sides
),

summed AS (
    SELECT
        metric,
        task,
        sum(baseline_runs) AS baseline_runs,
        sum(candidate_runs) AS candidate_runs,
        coalesce(sum(baseline.lost), 0) AS baseline_lost,
        coalesce(sum(candidate.lost), 0) AS candidate_lost,
        coalesce(sum(baseline.n), 0) AS baseline_found,
        coalesce(sum(candidate.n), 0) AS candidate_found,
        coalesce(sum(baseline.n) FILTER (compared), 0) AS baseline_n,
        coalesce(sum(candidate.n) FILTER (compared), 0) AS candidate_n,
        sum(baseline.total) FILTER (compared) AS baseline_total,
        sum(candidate.total) FILTER (compared) AS candidate_total,
        sum(baseline.squares) FILTER (compared) AS baseline_squares,
        sum(candidate.squares) FILTER (compared) AS candidate_squares,
        min(baseline.lo) FILTER (compared) AS baseline_lo,
        min(candidate.lo) FILTER (compared) AS candidate_lo,
        max(baseline.hi) FILTER (compared) AS baseline_hi,
        max(candidate.hi) FILTER (compared) AS candidate_hi
    FROM kept
    GROUP BY metric, task
)

-- Rounding to units must not carry a mean outside its own values.
SELECT
    p.place::BIGINT AS place,
    s.metric,
    s.task::BIGINT AS task,
    s.baseline_runs::BIGINT AS baseline_runs,
    s.candidate_runs::BIGINT AS candidate_runs,
    s.baseline_lost::BIGINT AS baseline_lost,
    s.candidate_lost::BIGINT AS candidate_lost,
    s.baseline_found::BIGINT AS baseline_found,
    s.candidate_found::BIGINT AS candidate_found,
    s.baseline_n::BIGINT AS baseline_n,
    s.candidate_n::BIGINT AS candidate_n,
    s.baseline_total::HUGEINT AS baseline_total,
    s.candidate_total::HUGEINT AS candidate_total,
    s.baseline_squares::HUGEINT AS baseline_squares,
    s.candidate_squares::HUGEINT AS candidate_squares,
    greatest(
        s.baseline_lo,
        least(s.baseline_hi, s.baseline_total::DOUBLE / nullif(s.baseline_n, 0) / p.scale)
    )::DOUBLE AS baseline_mean,
    greatest(
        s.candidate_lo,
        least(s.candidate_hi, s.candidate_total::DOUBLE / nullif(s.candidate_n, 0) / p.scale)
    )::DOUBLE AS candidate_mean,
    (
        (s.baseline_total * s.candidate_n - s.candidate_total * s.baseline_n)::DOUBLE
        / nullif(s.baseline_n, 0) / nullif(s.candidate_n, 0) / p.scale
    )::DOUBLE AS difference,
    p.scale::DOUBLE AS scale
FROM summed AS s
JOIN places AS p ON p.metric = s.metric
ORDER BY place, task;
