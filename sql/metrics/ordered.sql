-- Ordered metrics: does the run make the expected calls, in the expected order?
--
-- Parameters  expected, actual: two lists of comparable keys of any one type (call keys, tool
--             names, structs), in log order; n = len(expected), m = len(actual).
--             The *_names twins take the tool names of the same calls.
-- Nulls       A NULL list gives NULL. So does a NULL element: a key that is not known can be
--             called neither equal nor different.
-- Empty       Both lists empty: 1. Only expected empty: in_order, in_order_match and lcs are 1,
--             the others 0. Only actual empty: 0.
-- Types       TINYINT 0 or 1 (exact_match, in_order_match), BIGINT counts, DOUBLE fractions.
-- Formulas    exact_match     1 if expected = actual
--             prefix_match    prefix_length / max(n, m)
--             position_match  n_same_position / max(n, m)
--             in_order        in_order_length / n
--             in_order_match  1 if in_order_length = n
--             lcs             lcs_length / n
--             lcs_f1          2 * lcs_length / (n + m)
--             n_expected      n
--
-- Each list is bound once, in a one-element list of a struct: a macro argument may then be a
-- subquery, which DuckDB refuses inside a lambda.

-- The one place that divides: NULL, never NaN or an error, when there is nothing to divide by.
CREATE OR REPLACE MACRO ratio(numerator, denominator) AS
    numerator::DOUBLE / nullif(denominator, 0)::DOUBLE;

-- Where nothing was asked for, all of it was done: 0 / 0 is taken as 1 / 1.
CREATE OR REPLACE MACRO ratio_or_one(numerator, denominator) AS
    ratio(numerator + (denominator = 0)::BIGINT, greatest(denominator, 1));

-- True when no element is NULL; NULL for a NULL list.
CREATE OR REPLACE MACRO all_known(keys) AS len(keys) = list_count(keys);

CREATE OR REPLACE MACRO comparable(expected, actual) AS all_known(expected) AND all_known(actual);

CREATE OR REPLACE MACRO longer_length(expected, actual) AS
    CASE WHEN comparable(expected, actual) THEN greatest(len(expected), len(actual)) END;

-- ---------------------------------------------------------------- counts

CREATE OR REPLACE MACRO n_expected(expected) AS len(expected)::BIGINT;

-- Calls before the first position where the lists differ (a missing call differs).
CREATE OR REPLACE MACRO prefix_length(expected, actual) AS
    CASE WHEN comparable(expected, actual)
         THEN coalesce(
                  list_position(
                      list_transform(
                          list_zip(expected, actual),
                          lambda pair: coalesce(pair[1] = pair[2], false)
                      ),
                      false
                  ) - 1,
                  len(expected)
              )::BIGINT END;

CREATE OR REPLACE MACRO n_same_position(expected, actual) AS
    CASE WHEN comparable(expected, actual)
         THEN len(
                  list_filter(list_zip(expected, actual), lambda pair: pair[1] = pair[2])
              )::BIGINT END;

-- Greedy walk over actual: the carried number is how many expected calls were met so far, and
-- the next one to meet is the one after them.
CREATE OR REPLACE MACRO in_order_length(expected, actual) AS
    CASE WHEN comparable(expected, actual)
         THEN list_transform(
                  [{'expected': expected, 'actual': actual}],
                  lambda run: list_reduce(
                      run.actual,
                      lambda met, call: met + coalesce(run.expected[met + 1] = call, false)::BIGINT,
                      0::BIGINT
                  )
              )[1]::BIGINT END;

-- Longest common subsequence. The carried list is the row of the usual table written shorter:
-- ends[k + 1] is the earliest expected position where a common subsequence of length k ends.
-- An actual call moves each end forward to its next occurrence after the end before it, if that
-- is earlier (least ignores the NULL of "no such occurrence").
CREATE OR REPLACE MACRO lcs_length_short(expected, actual) AS
    list_transform(
        [{'expected': expected, 'actual': actual}],
        lambda run: len(list_reduce(
            run.actual,
            lambda ends, call: list_filter(
                [0::BIGINT] || list_transform(
                    ends,
                    lambda previous, k: least(
                        ends[k + 1],
                        previous + list_position(run.expected[previous + 1:], call)
                    )
                ),
                lambda position: position IS NOT NULL
            ),
            [0::BIGINT]
        )) - 1
    )[1]::BIGINT;

-- The same where a copy of the rest of a list for every end would be too much: ends (odd, twice
-- their position and 1) and occurrences of the call (even) are sorted together; the new ends are
-- the first of them, and each that comes right after an old end.
CREATE OR REPLACE MACRO lcs_length_long(expected, actual) AS
    list_transform(
        [{'expected': expected, 'actual': actual}],
        lambda run: len(list_reduce(
            run.actual,
            lambda ends, call: list_transform(
                [list_sort(ends || list_filter(
                    list_transform(
                        run.expected,
                        lambda key, position: CASE WHEN key = call THEN 2 * position END
                    ),
                    lambda occurrence: occurrence IS NOT NULL
                ))],
                lambda merged: list_transform(
                    list_filter(
                        merged, lambda code, place: place = 1 OR merged[place - 1] % 2 = 1
                    ),
                    lambda code: code | 1
                )
            )[1],
            [1::BIGINT]
        )) - 1
    )[1]::BIGINT;

-- The list that the other way is for is NULL, as DuckDB works out both for constants.
CREATE OR REPLACE MACRO lcs_length(expected, actual) AS
    CASE WHEN comparable(expected, actual)
         THEN coalesce(
                  lcs_length_short(expected, CASE WHEN len(expected) <= 128 THEN actual END),
                  lcs_length_long(expected, CASE WHEN len(expected) > 128 THEN actual END)
              ) END;

-- ---------------------------------------------------------------- metrics

CREATE OR REPLACE MACRO exact_match(expected, actual) AS
    CASE WHEN comparable(expected, actual) THEN (expected = actual)::TINYINT END;

CREATE OR REPLACE MACRO prefix_match(expected, actual) AS
    ratio_or_one(prefix_length(expected, actual), longer_length(expected, actual));

CREATE OR REPLACE MACRO position_match(expected, actual) AS
    ratio_or_one(n_same_position(expected, actual), longer_length(expected, actual));

CREATE OR REPLACE MACRO in_order(expected, actual) AS
    ratio_or_one(in_order_length(expected, actual), len(expected));

CREATE OR REPLACE MACRO in_order_match(expected, actual) AS
    (in_order_length(expected, actual) = len(expected))::TINYINT;

CREATE OR REPLACE MACRO lcs(expected, actual) AS
    ratio_or_one(lcs_length(expected, actual), len(expected));

CREATE OR REPLACE MACRO lcs_f1(expected, actual) AS
    ratio_or_one(2 * lcs_length(expected, actual), len(expected) + len(actual));

-- ---------------------------------------------------------------- twins over tool names

CREATE OR REPLACE MACRO exact_match_names(expected, actual) AS exact_match(expected, actual);
CREATE OR REPLACE MACRO prefix_match_names(expected, actual) AS prefix_match(expected, actual);
CREATE OR REPLACE MACRO position_match_names(expected, actual) AS position_match(expected, actual);
CREATE OR REPLACE MACRO in_order_names(expected, actual) AS in_order(expected, actual);
CREATE OR REPLACE MACRO in_order_match_names(expected, actual) AS in_order_match(expected, actual);
CREATE OR REPLACE MACRO lcs_names(expected, actual) AS lcs(expected, actual);
CREATE OR REPLACE MACRO lcs_f1_names(expected, actual) AS lcs_f1(expected, actual);
