"""What people say of runs: picking runs to ask about, and how far the answers agree."""
