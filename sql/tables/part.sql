-- What a set of runs says of a metric, in numbers that add up exactly.
--
-- Purpose     The parts of a mean and of a spread, with what is missing and why.
-- Macros      part(x, scale, lost)  aggregate: n, total and squares of x in units of 1 / scale,
--                                   its least and greatest value, and how many runs have none and
--                                   are lost (have none by their status)
CREATE OR REPLACE TEMP MACRO part(x, scale, lost) AS {
    'n': count(x),
    'total': sum(fixed(x, scale)),
    'squares': sum(fixed(x, scale)::HUGEINT * fixed(x, scale)),
    'lo': min(x)::DOUBLE,
    'hi': max(x)::DOUBLE,
    'lost': count(*) FILTER (x IS NULL AND lost)
};
