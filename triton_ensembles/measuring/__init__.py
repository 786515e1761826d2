"""Whatever is measured in a real server, and what follows from it: sweeps, profiles, settings, capacity."""
