"""What a policy's rules do to the arguments of calls, and the keys that calls have under it."""
