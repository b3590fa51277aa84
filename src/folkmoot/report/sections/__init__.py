"""What a report says of a run: one file per section. All sentences and all numbers, once."""
