"""What others than the metrics say of runs, as columns that join the scores by run_key."""
