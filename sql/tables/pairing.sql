-- Pairs of one metric: per task, the mean of each arm and the difference between them.
--
-- Grain       One row per task that an arm attempts, in their order.
-- Parameters  Tables made for the question at hand:
--             sides      one row per task (and trial, where trials are paired), null where an arm
--                        has no run; of each arm (baseline_…, candidate_…): runs, lost, n, total,
--                        lo, hi
--             $by_trial  are trials paired?
--             $scale     of the metric
-- Columns     task; of each arm (baseline_…, candidate_…):
--             runs     its runs of the task
--             lost     those without a value by their status, or because they are not scored
--             found    those with a value
--             n        the values compared, and their
--             mean
--             and difference = baseline mean − candidate mean, null where an arm has none, or
--             where no double holds it
-- Rules       Paired by trial, a trial is compared where both arms have a value for its number;
--             trials without a number are those of one number.
--             Where values were rounded to units (a scale of 1 rounds nothing), means within a
--             unit of each other are equal.
WITH kept AS (
    SELECT
        *,
        NOT $by_trial OR (baseline_n > 0 AND candidate_n > 0) AS compared
    FROM sides
),

summed AS (
    SELECT
        task,
        sum(baseline_runs) AS baseline_runs,
        sum(candidate_runs) AS candidate_runs,
        sum(baseline_lost) AS baseline_lost,
        sum(candidate_lost) AS candidate_lost,
        sum(baseline_n) AS baseline_found,
        sum(candidate_n) AS candidate_found,
        coalesce(sum(baseline_n) FILTER (compared), 0) AS baseline_n,
        coalesce(sum(candidate_n) FILTER (compared), 0) AS candidate_n,
        sum(baseline_total) FILTER (compared) AS baseline_total,
        sum(candidate_total) FILTER (compared) AS candidate_total,
        min(baseline_lo) FILTER (compared) AS baseline_lo,
        min(candidate_lo) FILTER (compared) AS candidate_lo,
        max(baseline_hi) FILTER (compared) AS baseline_hi,
        max(candidate_hi) FILTER (compared) AS candidate_hi
    FROM kept
    GROUP BY task
),

apart AS (
    SELECT
        *,
        (baseline_total * candidate_n - candidate_total * baseline_n)::DOUBLE
        / nullif(baseline_n, 0) / nullif(candidate_n, 0) AS units
    FROM summed
)

-- Rounding to units must not carry a mean outside its own values.
SELECT
    task::BIGINT AS task,
    baseline_runs::BIGINT AS baseline_runs,
    candidate_runs::BIGINT AS candidate_runs,
    baseline_lost::BIGINT AS baseline_lost,
    candidate_lost::BIGINT AS candidate_lost,
    baseline_found::BIGINT AS baseline_found,
    candidate_found::BIGINT AS candidate_found,
    baseline_n::BIGINT AS baseline_n,
    candidate_n::BIGINT AS candidate_n,
    greatest(
        baseline_lo,
        least(baseline_hi, baseline_total::DOUBLE / nullif(baseline_n, 0) / $scale)
    )::DOUBLE AS baseline_mean,
    greatest(
        candidate_lo,
        least(candidate_hi, candidate_total::DOUBLE / nullif(candidate_n, 0) / $scale)
    )::DOUBLE AS candidate_mean,
    CASE
        WHEN $scale <> 1 AND abs(units) <= 1 THEN 0
        WHEN isfinite(units / $scale) THEN units / $scale
    END::DOUBLE AS difference
FROM apart
ORDER BY task;
