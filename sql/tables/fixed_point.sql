-- Exact sums: a value becomes a whole number of a small unit, so no order of adding changes a bit.
--
-- Purpose     Sums of floats depend on their order, and so on threads; sums of integers do not.
--             A unit is 1 / scale with scale a power of two: counts and flags use 1, fractions
--             2^49, amounts what their largest absolute value leaves. |x| · scale ≤ 2^49, so sums
--             of squares fit HUGEINT up to 2^27 values in a group; beyond, DuckDB raises.
-- Macros      scale_of(lo, hi)            the power of two for values from lo to hi
--             fixed(x, scale)             x in units (a cast to BIGINT rounds to nearest)
--             gathered(x)                 aggregate: n and total of x
--             merged(part)                aggregate: n and total over parts
--             summed(x, units)            aggregate: n, squares in units, lo and hi of x
--             ends(x)                     the same without squares
--             summed_flags(x)             the same of values 0 and 1
--             summed_fractions(x, units)  the same of values from 0 to 1: a square is rounded to
--                                         2^-62, which costs a third of multiplying in HUGEINT
--             pooled(x, num, den)         aggregate: num and den of a kind of run in which x is
--                                         null always or never
--             scatter(n, total, squares)  Σ(x − mean)², in exact integers up to the last step
--             sum_of_squares(d)           aggregate: Σ d² of HUGEINT d, |d| < 2^104
--             deviation(part, whole)      how far a part's total lies off its share, times N
--             between_tasks(deviation)    aggregate: tasks with values, and Σ deviation²

CREATE OR REPLACE TEMP MACRO scale_of(lo, hi) AS
    coalesce(2.0 ** least(1000, 49 - ceil(log2(nullif(greatest(abs(lo), abs(hi)), 0)))), 1.0);

CREATE OR REPLACE TEMP MACRO fixed(x, scale) AS (x::DOUBLE * scale)::BIGINT;

CREATE OR REPLACE TEMP MACRO gathered(x) AS {'n': count(x), 'total': sum(x)};

CREATE OR REPLACE TEMP MACRO merged(part) AS {'n': sum(part.n), 'total': sum(part.total)};

CREATE OR REPLACE TEMP MACRO summed(x, units) AS {
    'n': count(x),
    'squares': sum(units::HUGEINT * units),
    'lo': min(x)::DOUBLE,
    'hi': max(x)::DOUBLE
};

CREATE OR REPLACE TEMP MACRO ends(x) AS {
    'n': count(x),
    'squares': NULL::HUGEINT,
    'lo': min(x)::DOUBLE,
    'hi': max(x)::DOUBLE
};

CREATE OR REPLACE TEMP MACRO summed_flags(x) AS {
    'n': count(x),
    'squares': sum(x::BIGINT),
    'lo': (sum(x::BIGINT) = count(x))::BIGINT::DOUBLE,
    'hi': (sum(x::BIGINT) > 0)::BIGINT::DOUBLE
};

CREATE OR REPLACE TEMP MACRO summed_fractions(x, units) AS {
    'n': count(x),
    'squares': sum((x * x * 2.0 ** 62)::BIGINT) * 68719476736::HUGEINT,
    'lo': min(x),
    'hi': max(x)
};

CREATE OR REPLACE TEMP MACRO pooled(x, num, den) AS {
    'num': CASE WHEN count(x) > 0 THEN sum(num)::DOUBLE END,
    'den': CASE WHEN count(x) > 0 THEN sum(den)::DOUBLE END
};

-- With total = n·q + r: Σx² − n·q² − 2·q·r is whole, and r² / n is all that is left to take off.
CREATE OR REPLACE TEMP MACRO scatter(n, total, squares) AS greatest(
    0.0,
    (squares - (total // n) * (total // n) * n - 2 * (total // n) * (total % n))::DOUBLE
        - (total % n)::DOUBLE * (total % n)::DOUBLE / n
);

-- d² may need 208 bits, so |d| = 2^49·h + l is squared in halves: each sum is exact, none negative.
CREATE OR REPLACE TEMP MACRO sum_of_squares(d) AS
    sum((abs(d) >> 49) * (abs(d) >> 49))::DOUBLE * 2.0 ** 98
        + sum((abs(d) >> 49) * (abs(d) & 562949953421311))::DOUBLE * 2.0 ** 50
        + sum((abs(d) & 562949953421311) * (abs(d) & 562949953421311))::DOUBLE;

-- N · Σ_i(x − mean) over the values of one part is whole: N · part.total − part.n · total.
CREATE OR REPLACE TEMP MACRO deviation(part, whole) AS
    whole.n * part.total - part.n * whole.total;

CREATE OR REPLACE TEMP MACRO between_tasks(deviation) AS {
    'n_tasks': count(deviation),
    'squares': sum_of_squares(deviation)
};
