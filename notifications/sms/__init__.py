"""What an SMS is: its letters, its length, its number, and the words that mean stop. Pure functions, no I/O."""
