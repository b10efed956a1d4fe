"""How runs went: steps, repeats, loops, failures and what followed them, what was used."""
