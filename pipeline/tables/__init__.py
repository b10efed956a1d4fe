"""The tables people ask for: each is one query over the scores that count."""
