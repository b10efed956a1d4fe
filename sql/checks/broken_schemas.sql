-- Tools whose input_schema is no JSON Schema: their calls have no verdict in schema_valid_rate.
--
-- Severity    warning
-- Grain       one row per tool and fault
SELECT
    name AS subject,
    format('no JSON Schema in {} tasks: {}', sum(n_tasks)::BIGINT, why) AS detail
FROM no_schemas
GROUP BY name, why
