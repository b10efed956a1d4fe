-- Percentiles: the quantiles of every metric, with the number of values they rest on.
--
-- Grain       One row per group and metric of distributions.
-- Parameters  Tables made for the question at hand:
--             distributions  one row per group: group_id, and per metric spread_NAME, a struct of
--                            n and the list of quantiles
--             places         one row per metric: metric, place
-- Columns     group_id, place, metric, n_scored, quantiles (a list, null where n_scored is 0)
WITH long AS (
    UNPIVOT (SELECT group_id, COLUMNS('^spread_') FROM distributions)
    ON COLUMNS('^spread_') INTO NAME metric VALUE spread
)

SELECT
    long.group_id,
    places.place,
    places.metric,
    long.spread.n::BIGINT AS n_scored,
    long.spread.quantiles::DOUBLE[] AS quantiles
FROM long
JOIN places ON places.metric = long.metric[8:];
