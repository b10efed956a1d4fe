-- Usage: how many steps, calls, turns and tokens a run took.
--
-- Parameters  One list per column of steps, in any order: kinds (llm_call, tool_call, final or
--             message), names (of tools, beside kinds), turn_indexes, and per step tokens.
-- Nulls       A NULL list gives NULL (of total_tokens, two of them). NULL elements are skipped;
--             turns and tokens are NULL when no element is known, and tokens where their sum needs
--             more than 64 bits.
-- Empty       Counts are 0, turns and tokens NULL.
-- Types       BIGINT
-- Formulas    n_steps        |T|, the rows that are no message
--             n_calls        rows that are tool calls
--             n_llm_calls    rows that are model calls
--             n_tools        different names among the tool calls
--             n_turns        different turn indexes
--             input_tokens   sum of the logged counts
--             output_tokens  sum of the logged counts
--             total_tokens   input_tokens + output_tokens, of those logged

CREATE OR REPLACE MACRO n_steps(kinds) AS len(decision_kinds(kinds))::BIGINT;

CREATE OR REPLACE MACRO n_calls(kinds) AS len(call_kinds(kinds))::BIGINT;

CREATE OR REPLACE MACRO n_llm_calls(kinds) AS
    len(list_filter(kinds, lambda kind: kind = 'llm_call'))::BIGINT;

CREATE OR REPLACE MACRO n_tools(kinds, names) AS
    list_unique(call_values(kinds, names))::BIGINT;

CREATE OR REPLACE MACRO n_turns(turn_indexes) AS nullif(list_unique(turn_indexes), 0)::BIGINT;

CREATE OR REPLACE MACRO input_tokens(tokens) AS TRY_CAST(list_sum(tokens) AS BIGINT);

CREATE OR REPLACE MACRO output_tokens(tokens) AS TRY_CAST(list_sum(tokens) AS BIGINT);

CREATE OR REPLACE MACRO total_tokens(input_list, output_list) AS
    TRY_CAST(list_sum([list_sum(input_list), list_sum(output_list)]) AS BIGINT);
