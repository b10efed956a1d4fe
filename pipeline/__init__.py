"""trajtab: agent trajectories in, tables out."""
