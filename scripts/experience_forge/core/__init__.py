"""Pure logic: no file, clock, environment, network or randomness."""
