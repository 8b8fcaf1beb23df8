"""Everything in the Procfile on one machine: started, watched, restarted, and stopped together."""
