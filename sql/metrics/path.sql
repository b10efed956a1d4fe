-- Path metrics: how did the run go, seen from its own steps, without a reference?
--
-- Parameters  One list per column of steps, in step order, equally long:
--             kinds        llm_call, tool_call, final or message;
--             keys         the key of a tool call (rows of other kinds are not looked at);
--             is_errors    did the tool call fail? (error_rate and n_errors: of tool calls only);
--             window_rows  how many decision rows back a repeat counts;
--             response_indexes  which model response a step belongs to, where known;
--             max_steps    how many steps away a success after a failure counts.
--             tokens, n_calls, n_errors, n_steps, min_steps are the run's own numbers.
--             T is the decision rows, those that are no message; m the number of tool calls.
-- Nulls       A NULL list or window gives NULL. So do
--             a NULL key of a tool call (not captured), for all that compare calls;
--             no known is_error while m > 0, for all that need errors (a NULL beside a known
--             one counts as not failed).
-- Empty       Rates of nothing (m = 0, |T| = 0) are NULL, counts are 0.
-- Types       BIGINT counts, DOUBLE fractions.
-- Formulas    n_errors                 calls whose is_error is true
--             n_backtracks             calls with an equal call in the window_rows rows of T before
--             n_clean                  calls that neither failed nor repeat, within the window, an
--                                      equal call that succeeded
--             error_rate               n_errors / m
--             backtracking_rate        n_backtracks / |T|
--             backtracking_rate_calls  n_backtracks / m
--             tool_precision           n_clean / m
--             recovery_quality         sum of max_steps + 1 - d over failed calls / (failed calls *
--                                      max_steps); d: steps to the next success, responses where
--                                      both calls know theirs, at most max_steps + 1; NULL when
--                                      nothing failed
--             length_efficiency        min(1, min_steps / n_steps)
--             token_efficiency         min(1, 500 / max(500, tokens / useful)), useful = n_calls -
--                                      n_errors (NULL counts as 0); 0 when none was useful; NULL
--                                      when m = 0
--             token_efficiency_log     useful / ln(1 + tokens); NULL at 0 tokens

-- ---------------------------------------------------------------- rows

CREATE OR REPLACE MACRO decision_kinds(kinds) AS
    list_filter(kinds, lambda kind: kind <> 'message');

CREATE OR REPLACE MACRO call_kinds(kinds) AS
    list_filter(kinds, lambda kind: kind = 'tool_call');

-- Of a list beside kinds, the values of tool calls only.
CREATE OR REPLACE MACRO call_values(kinds, column_values) AS
    CASE WHEN kinds IS NOT NULL AND column_values IS NOT NULL
         THEN list_transform(
                  list_filter(list_zip(kinds, column_values), lambda step: step[1] = 'tool_call'),
                  lambda step: step[2]
              ) END;

-- Of a list beside kinds, one value per row of T: NULL where the row is no tool call.
CREATE OR REPLACE MACRO decision_values(kinds, column_values) AS
    CASE WHEN kinds IS NOT NULL AND column_values IS NOT NULL
         THEN list_transform(
                  list_filter(list_zip(kinds, column_values), lambda step: step[1] <> 'message'),
                  lambda step: CASE WHEN step[1] = 'tool_call' THEN step[2] END
              ) END;

-- ---------------------------------------------------------------- counts

-- Keys that occur among the window_rows elements before them; a NULL element is no key.
CREATE OR REPLACE MACRO n_repeats(keys, window_rows) AS
    list_transform(
        [{'keys': keys, 'rows': window_rows::BIGINT}],
        lambda path: CASE
            WHEN path.rows IS NOT NULL
            THEN len(list_filter(
                path.keys,
                lambda key, position: list_contains(
                    path.keys[greatest(position - path.rows, 1):position - 1], key
                )
            ))
        END
    )[1]::BIGINT;

CREATE OR REPLACE MACRO n_errors(is_errors) AS
    CASE WHEN list_count(is_errors) > 0 OR len(is_errors) = 0
         THEN len(list_filter(is_errors, lambda is_error: is_error))::BIGINT END;

CREATE OR REPLACE MACRO n_backtracks(kinds, keys, window_rows) AS
    CASE WHEN all_known(call_values(kinds, keys))
         THEN n_repeats(decision_values(kinds, keys), window_rows) END;

-- With the failed calls blanked out, a clean call is one that repeats none of those left.
CREATE OR REPLACE MACRO keys_of_successes(kinds, keys, is_errors) AS
    list_transform(
        list_zip(decision_values(kinds, keys), decision_values(kinds, is_errors)),
        lambda step: CASE WHEN step[2] THEN NULL ELSE step[1] END
    );

CREATE OR REPLACE MACRO n_clean(kinds, keys, is_errors, window_rows) AS
    CASE WHEN all_known(call_values(kinds, keys))
              AND n_errors(call_values(kinds, is_errors)) IS NOT NULL
         THEN list_count(keys_of_successes(kinds, keys, is_errors))::BIGINT
              - n_repeats(keys_of_successes(kinds, keys, is_errors), window_rows) END;

-- ---------------------------------------------------------------- metrics

CREATE OR REPLACE MACRO error_rate(is_errors) AS ratio(n_errors(is_errors), len(is_errors));

CREATE OR REPLACE MACRO backtracking_rate(kinds, keys, window_rows) AS
    ratio(n_backtracks(kinds, keys, window_rows), len(decision_kinds(kinds)));

CREATE OR REPLACE MACRO backtracking_rate_calls(kinds, keys, window_rows) AS
    ratio(n_backtracks(kinds, keys, window_rows), len(call_kinds(kinds)));

CREATE OR REPLACE MACRO tool_precision(kinds, keys, is_errors, window_rows) AS
    ratio(n_clean(kinds, keys, is_errors, window_rows), len(call_kinds(kinds)));

-- Of every row of T: is it a failed call, one that worked, or no call (NULL)? And its response.
CREATE OR REPLACE MACRO recovery_rows(kinds, is_errors, response_indexes) AS
    list_transform(
        list_zip(
            decision_kinds(kinds),
            decision_values(kinds, is_errors),
            decision_values(kinds, response_indexes)
        ),
        lambda step: {
            'failed': CASE WHEN step[1] = 'tool_call' THEN coalesce(step[2], false) END,
            'response': step[3]::BIGINT
        }
    );

-- For each failed call of recovery_rows, the steps to the next success: the first that is more
-- than 0 away, which a success of the same response is not.
CREATE OR REPLACE MACRO recovery_steps(path_rows, max_steps) AS
    list_transform(
        [{'rows': path_rows, 'most': max_steps::BIGINT}],
        lambda path: list_transform(
            list_filter(
                list_transform(
                    path.rows,
                    lambda step, position: {
                        'failed': step.failed, 'response': step.response, 'position': position
                    }
                ),
                lambda step: step.failed
            ),
            lambda failure: least(path.most + 1, coalesce(
                list_filter(
                    list_transform(
                        path.rows[failure.position + 1:],
                        lambda step, distance: CASE
                            WHEN NOT step.failed
                            THEN coalesce(step.response - failure.response, distance)
                        END
                    ),
                    lambda steps: steps > 0
                )[1],
                path.most + 1
            ))
        )
    )[1];

CREATE OR REPLACE MACRO recovery_quality(kinds, is_errors, response_indexes, max_steps) AS
    list_transform(
        [{
            'steps': recovery_steps(recovery_rows(kinds, is_errors, response_indexes), max_steps),
            'most': max_steps::BIGINT
        }],
        lambda path: ratio(
            len(path.steps) * (path.most + 1) - list_sum(path.steps), len(path.steps) * path.most
        )
    )[1];

CREATE OR REPLACE MACRO length_efficiency(min_steps, n_steps) AS
    ratio(CASE WHEN min_steps < n_steps THEN min_steps WHEN min_steps IS NOT NULL THEN n_steps END, n_steps);

CREATE OR REPLACE MACRO token_efficiency(tokens, n_calls, n_errors) AS
    CASE WHEN tokens IS NOT NULL AND n_calls > 0
         THEN ratio(
                  500 * (n_calls - coalesce(n_errors, 0))::BIGINT,
                  greatest(500 * (n_calls - coalesce(n_errors, 0))::BIGINT, tokens, 1)
              ) END;

CREATE OR REPLACE MACRO token_efficiency_log(tokens, n_calls, n_errors) AS
    ratio(n_calls - coalesce(n_errors, 0), CASE WHEN tokens > 0 THEN ln(1 + tokens::DOUBLE) END);
