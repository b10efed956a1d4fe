"""What people say of runs: landing it, picking runs to ask about, and how far it agrees."""
