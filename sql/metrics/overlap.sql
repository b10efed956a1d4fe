-- Overlap metrics: which expected calls happen, and which calls were expected, in any order?
--
-- Parameters  expected, actual: two lists of comparable keys of any one type (call keys, tool
--             names, structs); n = len(expected), m = len(actual). The *_names twins take the
--             tool names of the same calls; call_accuracy and call_accuracy_position take keys
--             and names.
-- Nulls       A NULL list or a NULL element gives NULL.
-- Empty       Both lists empty: 1, and tp 0. Only expected empty: recall, any_order_match and
--             set_recall are 1, the others 0. Only actual empty: only_expected is 1, the others 0.
-- Types       TINYINT 0 or 1 (any_order_match, unordered_match, only_expected), BIGINT counts,
--             DOUBLE fractions.
-- Formulas    tp               sum over distinct keys k of min(count of k in expected, in actual)
--             precision        tp / m
--             recall           tp / n
--             f1               2 * tp / (n + m)
--             any_order_match  1 if tp = n
--             unordered_match  1 if tp = n = m
--             only_expected    1 if tp = m
--             set_*            the same over distinct keys; set_jaccard common / union
--             n_missing        n - tp
--             n_extra          m - tp
--             n_duplicate      m - number of distinct actual keys
--             call_accuracy           (tp + tp_names) / (2 * max(n, m))
--             call_accuracy_position  (n_same_position + the same over names) / (2 * max(n, m))
--
-- PRECISION is a word of DuckDB's grammar: call the macro as "precision"(expected, actual),
-- main.precision(expected, actual) or, on a column, expected.precision(actual).

-- ---------------------------------------------------------------- counts

CREATE OR REPLACE MACRO tp(expected, actual) AS
    CASE WHEN comparable(expected, actual)
         THEN list_transform(
                  [{'expected': expected, 'actual': actual}],
                  lambda run: list_reduce(
                      list_distinct(run.expected),
                      lambda found, call: found + least(
                          len(list_filter(run.expected, lambda key: key = call)),
                          len(list_filter(run.actual, lambda key: key = call))
                      ),
                      0::BIGINT
                  )
              )[1]::BIGINT END;

CREATE OR REPLACE MACRO n_distinct(calls) AS
    CASE WHEN all_known(calls) THEN list_unique(calls)::BIGINT END;

CREATE OR REPLACE MACRO n_common(expected, actual) AS
    CASE WHEN comparable(expected, actual)
         THEN len(list_intersect(expected, actual))::BIGINT END;

CREATE OR REPLACE MACRO n_missing(expected, actual) AS len(expected) - tp(expected, actual);

CREATE OR REPLACE MACRO n_extra(expected, actual) AS len(actual) - tp(expected, actual);

CREATE OR REPLACE MACRO n_duplicate(actual) AS len(actual) - n_distinct(actual);

-- ---------------------------------------------------------------- metrics

-- Without an actual call there is no m to divide by: n takes its place, 0 / n or "both empty".
CREATE OR REPLACE MACRO "precision"(expected, actual) AS
    ratio_or_one(tp(expected, actual), coalesce(nullif(len(actual), 0), len(expected)));

CREATE OR REPLACE MACRO recall(expected, actual) AS
    ratio_or_one(tp(expected, actual), len(expected));

CREATE OR REPLACE MACRO f1(expected, actual) AS
    ratio_or_one(2 * tp(expected, actual), len(expected) + len(actual));

CREATE OR REPLACE MACRO any_order_match(expected, actual) AS
    (tp(expected, actual) = len(expected))::TINYINT;

CREATE OR REPLACE MACRO unordered_match(expected, actual) AS
    (tp(expected, actual) = longer_length(expected, actual))::TINYINT;

CREATE OR REPLACE MACRO only_expected(expected, actual) AS
    (tp(expected, actual) = len(actual))::TINYINT;

CREATE OR REPLACE MACRO set_precision(expected, actual) AS
    ratio_or_one(
        n_common(expected, actual), coalesce(nullif(n_distinct(actual), 0), n_distinct(expected))
    );

CREATE OR REPLACE MACRO set_recall(expected, actual) AS
    ratio_or_one(n_common(expected, actual), n_distinct(expected));

CREATE OR REPLACE MACRO set_f1(expected, actual) AS
    ratio_or_one(2 * n_common(expected, actual), n_distinct(expected) + n_distinct(actual));

CREATE OR REPLACE MACRO set_jaccard(expected, actual) AS
    ratio_or_one(
        n_common(expected, actual),
        n_distinct(expected) + n_distinct(actual) - n_common(expected, actual)
    );

-- Full credit where the call matches, half where only its name does: every full match is a
-- match of names too, so the sum of both counts is twice the credit.
CREATE OR REPLACE MACRO call_accuracy(
    expected_keys, actual_keys, expected_names, actual_names
) AS
    ratio_or_one(
        tp(expected_keys, actual_keys) + tp(expected_names, actual_names),
        2 * longer_length(expected_keys, actual_keys)
    );

CREATE OR REPLACE MACRO call_accuracy_position(
    expected_keys, actual_keys, expected_names, actual_names
) AS
    ratio_or_one(
        n_same_position(expected_keys, actual_keys)
        + n_same_position(expected_names, actual_names),
        2 * longer_length(expected_keys, actual_keys)
    );

-- ---------------------------------------------------------------- twins over tool names

CREATE OR REPLACE MACRO tp_names(expected, actual) AS tp(expected, actual);
CREATE OR REPLACE MACRO precision_names(expected, actual) AS "precision"(expected, actual);
CREATE OR REPLACE MACRO recall_names(expected, actual) AS recall(expected, actual);
CREATE OR REPLACE MACRO f1_names(expected, actual) AS f1(expected, actual);
CREATE OR REPLACE MACRO any_order_match_names(expected, actual) AS
    any_order_match(expected, actual);
CREATE OR REPLACE MACRO unordered_match_names(expected, actual) AS
    unordered_match(expected, actual);
CREATE OR REPLACE MACRO only_expected_names(expected, actual) AS only_expected(expected, actual);
CREATE OR REPLACE MACRO set_precision_names(expected, actual) AS set_precision(expected, actual);
CREATE OR REPLACE MACRO set_recall_names(expected, actual) AS set_recall(expected, actual);
CREATE OR REPLACE MACRO set_f1_names(expected, actual) AS set_f1(expected, actual);
CREATE OR REPLACE MACRO set_jaccard_names(expected, actual) AS set_jaccard(expected, actual);
CREATE OR REPLACE MACRO n_missing_names(expected, actual) AS n_missing(expected, actual);
CREATE OR REPLACE MACRO n_extra_names(expected, actual) AS n_extra(expected, actual);
CREATE OR REPLACE MACRO n_duplicate_names(actual) AS n_duplicate(actual);
